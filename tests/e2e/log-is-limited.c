// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* L7: a storm of deadlines is counted in full, and not logged line by line. */
#include "e2e.h"

#define NR	200

static unsigned int lines(const char *words)
{
	char line[4096];
	unsigned int nr = 0;
	ssize_t n;
	int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK);

	need(fd >= 0, "open of /dev/kmsg");
	while ((n = read(fd, line, sizeof(line) - 1)) > 0 || errno == EPIPE) {
		line[n > 0 ? n : 0] = 0;
		nr += strstr(line, "lkvfence: ") && strstr(line, words);
	}
	close(fd);
	return nr;
}

int main(void)
{
	struct lkvfence *f = region("log-is-limited", NR);
	unsigned int i, nr;

	for (i = 0; i < NR; i++)
		hold(f, i, i, 1, 1, LKVFENCE_POLICY_TAINT, 20);
	for (i = 0; i < NR; i++)
		need(event(f).outcome == LKVFENCE_OUTCOME_TIMEOUT, "a deadline");
	gives(stat_of(f).released[LKVFENCE_OUTCOME_TIMEOUT], NR, "all are counted");
	nr = lines("log-is-limited: generation");
	check(nr >= 1 && nr <= 20, "%u of %u are logged", nr, NR);
	lkvfence_close(f);
	return done();
}
