/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which nodes have answered a break, and which are to be fenced.  Part
 * of lock_home_cases.h.
 */

/* @unanswered: bit of each slot; @nobody: no node has the lock. */
struct lh_answer {
	const char *name;
	struct lh_picture lh;
	u64 state;
	bool breaking;
	u8 unanswered;
	bool nobody;
};

static const struct lh_answer lh_answers[] = {
	{ "free", LH(FAST), 0, false, 0, .nobody = true },
	{ "in grace, who waits has nothing",
	  LH(MAN, .grace = true, Q(QS(1))), W_SET | BIT_OF(1), false, 0,
	  .nobody = true },
	{ "nobody was asked", LH(MAN, CUR(1, 7)), W_SET, false, 0 },
	{ "a managed holder was asked",
	  LH(MAN, CUR(1, 7), FORCED(1), .force = 1 << 1), W_SET, true, 1 << 1 },
	{ "it has answered: the next one has it",
	  LH(MAN, CUR(2, 8), FORCED(1), .force = 1 << 1), W_SET, false, 0 },
	{ "one of two readers has answered",
	  LH(MAN, SHARED(2, 8), FORCED(1), FORCED(2), .force = 1 << 1 | 1 << 2),
	  W_SET, true, 1 << 2 },
	{ "a fast owner, not asked before W is set: not fenced yet",
	  LH(SETW, .forced = true), 3, true, 0 },
	{ "a fast owner was asked",
	  LH(DRAIN, .forced = true, FAST_IS(4), .fast_forced = 4), 3 | W_SET,
	  true, 1 << 3 },
	{ "it has left the word: the home has not looked yet",
	  LH(DRAIN, .forced = true, FAST_IS(4), .fast_forced = 4), W_SET,
	  true, 0, .nobody = true },
	{ "fast readers were asked, one has left the word",
	  LH(MAN, .forced = true, FAST_IS(3), .fast_forced = 3),
	  W_SET | BIT_OF(2), true, 1 << 2 },
	{ "a bit of who only waits is no answer that is missing",
	  LH(MAN, .forced = true, FAST_IS(2), .fast_forced = 2, Q(1)),
	  W_SET | BIT_OF(1) | BIT_OF(2), true, 1 << 2 },
};

static inline const char *lh_answer_run(const struct lh_answer *c)
{
	struct tally_lh_node node[LH_NODES];
	struct tally_lh lh;
	bool want;
	int k;

	lh_build(&c->lh, &lh, node);
	if (tally_lh_taken(&lh, c->state) == c->nobody)
		return "taken";
	if (tally_lh_breaking(&lh) != c->breaking)
		return "breaking";
	for (k = 1; k <= LH_NODES; k++) {
		want = c->unanswered >> k & 1;
		if (tally_lh_unanswered(&lh, k, &node[k - 1], c->state) != want)
			return "unanswered";
	}
	return NULL;
}
