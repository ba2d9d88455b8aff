// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * What the module does with QPs, against the mirror. The mirror is told of each
 * step when it is done, so that it can be compared with the module at any time,
 * also while a driver sleeps.
 */
#include <errno.h>

#include "fuzz.h"
#include "main.h"
#include "qps.h"
#include "region.h"

struct context *context;

void judge_enter(struct context *c, int fd)
{
	memset(c, 0, sizeof(*c));
	c->outer = context;
	c->fd = fd;
	c->first_binding = mirror.last_binding;
	context = c;
	c->binding.outer = mirror.bindings;
	mirror.bindings = &c->binding;
}

void judge_leave(struct context *c, struct call *call)
{
	context = c->outer;
	mirror.bindings = c->binding.outer;
	if (!call)
		return;
	call->looks = c->looks;
	call->nr_looks = c->nr_looks;
	call->doomed = c->binding.doomed;
	call->first_binding = c->first_binding;
}

bool judge_uses(int fd)
{
	for (struct context *c = context; c; c = c->outer)
		if (c->fd == fd)
			return true;
	return false;
}

static struct mirror_region *mirror_of(const struct region *r)
{
	for (u32 i = 0; i < MIRROR_REGIONS; i++)
		if (mirror.regions[i].exists && regions[i] == r)
			return &mirror.regions[i];
	return NULL;
}

/*
 * The source as the mirror has it; NULL where that isn't bound any more, or its
 * region is one that the mirror doesn't see.
 */
static struct mirror_source *mirrored(const struct source *s, struct mirror_region **r)
{
	*r = mirror_of(s->region);
	if (!*r || (*r)->blind)
		return NULL;
	return mirror_find_binding(*r, s->binding);
}

/*
 * Steps of the work
 */

void qps_begins(enum qps_call call, const struct qp_id *id)
{
	void *asleep;

	agree(context && id && (call != QPS_TO_ERR || context->source));
	/* L9: what may hang, hangs as one of a few. */
	agree(context->entered == !!context->source);
	asleep = shim_fall_asleep();
	/* L6b: all whom it concerns have been told before. */
	if (call == QPS_TO_ERR)
		judge_all();
	meanwhile();
	shim_wake_up(asleep);
}

void qps_enters(const struct qp_id *id)
{
	agree(context->source && !context->entered++);
}

void qps_leaves(const struct qp_id *id)
{
	agree(context->source && context->entered--);
}

void qps_waits(void)
{
	agree(context->source);
	context->waits = true;
}

static void note_look(bool finds, int err, const struct qp_id *id)
{
	struct context *c = context;
	struct look *l = &c->looks[c->nr_looks++];

	agree(c->nr_looks <= ARRAY_SIZE(c->looks));
	*l = (struct look){ finds, err, err ? 0 : qps_identity(id) };
	/* From here on others can find it. */
	if (finds && !err)
		c->binding.identities[c->binding.nr_qps++] = l->identity;
}

void qps_ends(enum qps_call call, const struct qp_id *id, int err)
{
	const struct bound_qp *bound = container_of(id, struct bound_qp, id);
	struct mirror_source *s;
	struct mirror_region *r;
	struct mirror_qp *qp;

	/* Within a call somebody asks, within the work something is done. */
	if (!context->source) {
		agree(call != QPS_TO_ERR);
		note_look(call == QPS_FIND, err, id);
		return;
	}
	agree(call != QPS_FIND && bound->source == context->source);
	s = mirrored(context->source, &r);
	qp = s ? &s->qps[bound - context->source->qps] : NULL;
	context->time = shim.now;
	if (call == QPS_CHECK) {
		/* Only what has settled is looked at. */
		if (qp) {
			agree(qp->settled_ns <= shim.now);
			mirror_settled(qp, err);
		}
		return;
	}
	if (qp)
		mirror_moved(qp, err, shim.now + param_settle_ns());
	/* Who has bound it in the meantime is too late. */
	mirror_end_sharers(&mirror, qps_identity(id), shim.now);
}

/* L6b: all are told before a QP is moved. What comes later sees that they were. */
static void begin_work(struct source *s, u32 *identities, bool bound)
{
	struct mirror_region *mr;
	struct mirror_source *ms = mirrored(s, &mr);

	if (mr && !mr->blind)
		agree(!ms == !bound);
	if (!bound)
		return;
	if (ms)
		mirror_end_source(&mirror, mr, ms, shim.now);
	for (u32 i = 0; i < s->nr_qps; i++)
		mirror_end_sharers(&mirror, identities[i], shim.now);
}

static void end_work(const struct context *here, struct mirror_region *mr, u64 binding)
{
	struct mirror_source *ms = mirror_find_binding(mr, binding);
	bool settles = oracle_accepts(&mr->o, LKVFENCE_EVIDENCE_QP_ERR_SETTLED);

	if (!ms || mr->blind || !mr->exists)
		return;
	/* Each was moved, or could not be, and is quiet when its time is over. */
	for (u32 i = 0; i < ms->nr_qps && !here->waits; i++) {
		agree(ms->qps[i].state != LKVFENCE_QP_OPEN);
		agree(ms->qps[i].state != LKVFENCE_QP_ERR || !settles ||
		      ms->qps[i].settled_ns > here->time);
	}
	mirror_conclude(&mirror, mr, ms, shim.now);
}

void judge_work(struct delayed_work *work)
{
	struct source *s = container_of(work, struct source, work);
	struct mirror_region *mr;
	u32 identities[MAX_QPS];
	struct context here;
	u64 binding;
	bool bound;

	if (strcmp(work->name, "revoke_work")) {
		shim_run_delayed(work);
		return;
	}
	mr = mirror_of(s->region);
	binding = s->binding;
	bound = s->bound;
	for (u32 i = 0; i < s->nr_qps; i++)
		identities[i] = qps_identity(&s->qps[i].id);
	judge_enter(&here, -1);
	here.source = s;
	here.time = shim.now;
	begin_work(s, identities, bound);
	shim_run_delayed(work);
	agree(!here.entered);
	judge_leave(&here, NULL);
	if (bound && mr)
		end_work(&here, mr, binding);
}

static struct delayed_work *next_due(void)
{
	struct delayed_work *w, *first = NULL;

	for (w = shim.delayed; w; w = w->next)
		if (!shim_is_running(w) && (!first || w->due < first->due))
			first = w;
	return first;
}

void judge_works(bool all)
{
	struct delayed_work *w;

	while ((w = next_due()) && (all || w->due <= shim.now)) {
		shim.now = max(shim.now, w->due);
		shim_call_begin();
		judge_work(w);
	}
}

/*
 * Looking
 */

static u32 state_of(const struct fence_source *s)
{
	switch (s->state) {
	case FENCE_SOURCE_BOUND:
		return ACCESS_BOUND;
	case FENCE_SOURCE_REVOKING:
		return ACCESS_REVOKING;
	case FENCE_SOURCE_REVOKED:
		return ACCESS_REVOKED;
	default:
		return ACCESS_LOST;
	}
}

/* L8: what isn't over goes on by itself, in time. */
static void judge_progress(const struct mirror_region *mr, const struct mirror_source *ms,
			   const struct source *s)
{
	bool settles = oracle_accepts(&mr->o, LKVFENCE_EVIDENCE_QP_ERR_SETTLED);
	u64 latest = U64_MAX;
	u32 nr_quiet = 0;

	if (shim_is_running(&s->work))
		return;
	for (u32 i = 0; i < ms->nr_qps; i++) {
		const struct mirror_qp *qp = &ms->qps[i];

		if (qp->state == LKVFENCE_QP_OPEN)
			latest = 0;
		if (qp->state == LKVFENCE_QP_ERR && settles)
			latest = min(latest, qp->settled_ns);
		nr_quiet += qp->state == LKVFENCE_QP_QUIET;
	}
	/* What has just been told waits for nothing. */
	if (nr_quiet == ms->nr_qps && state_of(&s->fence) != ACCESS_REVOKED)
		agree(s->work.work.pending && s->work.due <= shim.now);
	if (latest == U64_MAX)
		return;
	agree(s->work.work.pending);
	/* A device may be busy: then a bit later. */
	agree(s->work.due <= max(latest, shim.now) + 6 * SHIM_JIFFY_NS);
}

void judge_sources(const struct mirror_region *mr, struct region *r)
{
	struct oracle *o = (struct oracle *)&mr->o;

	agree(r->fence.nr_sources == o->nr_sources);
	for (u32 i = 0; i < o->nr_sources; i++) {
		const struct mirror_source *ms = &mr->sources[i];
		struct fence_source *fs = fence_find_source(&r->fence, ms->source);
		const struct source *s;

		agree(fs);
		s = to_source(fs);
		agree(s->binding == ms->binding && s->bound && s->region == r);
		agree(s->started == ms->started && s->nr_qps == ms->nr_qps);
		agree(state_of(fs) == oracle_find_source(o, ms->source)->access);
		agree(fs->nr_leases == oracle_nr_bound(o, ms->source));
		agree(ms->handle < 0 ? !s->handle :
		      s->handle == shim.fds[ms->handle]->private_data);
		agree(list_empty(&s->unread) == !ms->unread);
		for (u32 j = 0; j < ms->nr_qps; j++) {
			agree(s->qps[j].state == ms->qps[j].state);
			agree(qps_identity(&s->qps[j].id) == ms->qps[j].identity);
		}
		/* Nobody gets a lease of what is being taken away. */
		agree(ms->started || state_of(fs) == ACCESS_BOUND);
		if (ms->started)
			judge_progress(mr, ms, s);
	}
}

void judge_count_sources(u64 *want, u64 *more)
{
	const struct delayed_work *w;
	const struct context *c;

	for (u32 i = 0; i < MIRROR_REGIONS; i++)
		if (mirror.regions[i].exists)
			*want += mirror.regions[i].o.nr_sources;
	/* Queued or running, or in a call. */
	for (w = shim.delayed; w; w = w->next)
		++*more;
	for (c = context; c; c = c->outer)
		++*more;
}
