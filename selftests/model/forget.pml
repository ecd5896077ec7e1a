// SPDX-License-Identifier: GPL-2.0
/*
 * Freed memory is never aimed at (B32): one word, in which objects live one
 * after another, a home and two clients that post operations on it. A word is
 * given to the next object only when all that were told where it is have
 * said FORGOTTEN, or have been fenced, which destroys their QPs.
 *
 * Each operation that executes must meet the object it was meant for, and in
 * the end every deleted object's word is free again.
 *
 * Switches (-D for spin):
 *   OBJECTS=n  objects that live in the word (default 3)
 *   OPS=n      operations of each client (default 2)
 *   BREAK=n    links that break and are resumed (default 1)
 *   FENCE=n    sessions that end (default 1)
 *   BUG_*      brings a mistake back: see mistakes
 */
#ifndef OBJECTS
#define OBJECTS 3
#endif
#ifndef OPS
#define OPS 2
#endif
#ifndef BREAK
#define BREAK 1
#endif
#ifndef FENCE
#define FENCE 1
#endif
#define NC 2

/* home -> client */
#define OPENED 1	/* the answer to OPEN: generation, 0 for "no such object" */
#define FORGET 2
/* client -> home */
#define OPEN 1
#define FORGOTTEN 2

byte word;		/* generation of the object in it, 0: free */
byte last;		/* highest generation so far */
bit deleted;		/* the object in it is deleted, its word not free yet */

byte told[NC];		/* home: generation whose address the client was given */
bit forget[NC];		/* home: FORGET was said of it */
byte reply[NC];		/* home: its last answer to OPEN */
bit seq[NC], answered[NC];	/* client, home: number of the last OPEN, its parity */
bit qp[NC] = 1;		/* the home's end of the link can execute */
bit lane[NC] = 1;	/* operations can be posted */
bit up[NC] = 1;		/* messages can be sent: a link's conns do not break at once */
bit over[NC];		/* the session has ended */

byte have[NC];		/* client: generation it has open */
bit asking[NC];		/* client: OPEN is unanswered */
byte early[NC];		/* client: FORGET that came while it asked */
byte owe[NC];		/* client: FORGOTTEN to be said of this generation */
bit inside[NC];		/* client: an operation is not complete, with a caller or without */
bit doubt[NC];		/* client: one of this link ended unknown */
byte fly[NC];		/* operation on the wire: generation it aims at */
bit came[NC];		/* it was executed, the completion is on its way */
byte ops[NC] = OPS;
byte brk = BREAK, fence = FENCE;

chan h2c[NC] = [4] of { byte, byte };
chan c2h[NC] = [4] of { byte, byte };
hidden byte t, v;

#ifdef BUG_INSIDE
#define QUIET(i) true
#else
#define QUIET(i) (!inside[i])
#endif
#ifdef BUG_DOUBT
#define SURE(i) true
#else
#define SURE(i) (!doubt[i])
#endif

inline clear(i)
{
	do :: nempty(h2c[i]) -> h2c[i]?t,v :: empty(h2c[i]) -> break od;
	do :: nempty(c2h[i]) -> c2h[i]?t,v :: empty(c2h[i]) -> break od
}

/* Home: an open has ended; the word may be free then. */
inline untell(i)
{
	told[i] = 0; forget[i] = 0;
	if
	:: deleted && !told[0] && !told[1] -> word = 0; deleted = 0
	:: else
	fi
}

proctype Client(byte i)
{
end:	do
	:: d_step { up[i] && !over[i] && !have[i] && !asking[i] && ops[i] > 0 ->
		asking[i] = 1; early[i] = 0; seq[i] = 1 - seq[i]; c2h[i]!OPEN,seq[i] }
	:: d_step { h2c[i]?t,v ->
		if
		:: t == OPENED ->
			asking[i] = 0;
			if
#ifndef BUG_EARLY
			:: v && v == early[i] -> skip	/* forgotten already */
#endif
			:: v && v != early[i] -> have[i] = v
#ifdef BUG_EARLY
			:: v && v == early[i] -> have[i] = v
#endif
			:: !v -> ops[i]--
			fi;
			early[i] = 0
		:: t == FORGET ->
			if
			:: have[i] == v -> owe[i] = v; have[i] = 0
			:: have[i] != v -> owe[i] = v;
				if :: asking[i] -> early[i] = v :: else fi
			fi
		fi }
	/* operations */
	:: d_step { have[i] && lane[i] && !inside[i] && !fly[i] && ops[i] > 0 ->
		ops[i]--; inside[i] = 1; fly[i] = have[i]; came[i] = 0 }
	:: d_step { inside[i] && came[i] && lane[i] ->
		inside[i] = 0; came[i] = 0 }
	/* FORGOTTEN */
	:: d_step { owe[i] && up[i] && !over[i] && QUIET(i) && SURE(i) ->
		c2h[i]!FORGOTTEN,owe[i]; owe[i] = 0 }
	/* faults: the link breaks; what is on the wire may still arrive */
	:: d_step { brk > 0 && lane[i] && !over[i] ->
		brk--; lane[i] = 0; came[i] = 0;
		if :: inside[i] -> inside[i] = 0; doubt[i] = 1 :: else fi }
	:: d_step { !lane[i] && up[i] && !over[i] -> clear(i); up[i] = 0 }
	/* ... and is resumed: the old QP is destroyed first */
	:: d_step { !up[i] && !over[i] ->
#ifndef BUG_RESUME
		fly[i] = 0; came[i] = 0;
#endif
		doubt[i] = 0; up[i] = 1; lane[i] = 1;
		if :: asking[i] -> c2h[i]!OPEN,seq[i] :: else fi;
		if :: told[i] && forget[i] -> h2c[i]!FORGET,told[i] :: else fi }
	od
}

inline home(i)
{
	if
	:: t == OPEN && v == answered[i] -> h2c[i]!OPENED,reply[i]	/* asked again */
	:: t == OPEN && v != answered[i] ->
		answered[i] = v;
		if
		:: word && !deleted && !told[i] -> told[i] = word; forget[i] = 0; reply[i] = word
		:: word && !deleted && told[i] == word -> reply[i] = word
		:: else -> reply[i] = 0
		fi;
		h2c[i]!OPENED,reply[i]
	:: t == FORGOTTEN && told[i] == v && forget[i] -> untell(i)
	:: else
	fi
}

inline fenced(i)
{
	over[i] = 1; up[i] = 0; lane[i] = 0; clear(i);
#ifndef BUG_FENCE
	qp[i] = 0; fly[i] = 0;
#endif
	inside[i] = 0; came[i] = 0; doubt[i] = 0; owe[i] = 0; have[i] = 0; asking[i] = 0;
	untell(i)
}

proctype Home()
{
	byte i;

end:	do
	:: d_step { !word && last < OBJECTS -> last++; word = last }
	:: d_step { word && !deleted ->
		deleted = 1;
#ifdef BUG_REUSE
		word = 0; deleted = 0;
#endif
		i = 0;
		do
		:: i < NC && told[i] -> forget[i] = 1;
			if :: up[i] -> h2c[i]!FORGET,told[i] :: else fi; i++
		:: i < NC && !told[i] -> i++
		:: i >= NC -> break
		od; i = 0;
		if
		:: deleted && !told[0] && !told[1] -> word = 0; deleted = 0
		:: else
		fi }
	:: d_step { c2h[0]?t,v -> i = 0; home(i) }
	:: d_step { c2h[1]?t,v -> i = 1; home(i) }
	/* the NIC: an operation executes */
	:: d_step { fly[0] && qp[0] && !came[0] -> assert(fly[0] == word); fly[0] = 0; came[0] = 1 }
	:: d_step { fly[1] && qp[1] && !came[1] -> assert(fly[1] == word); fly[1] = 0; came[1] = 1 }
	/* a session ends: first no QP, then the words */
	:: d_step { fence > 0 && !over[0] -> fence--; i = 0; fenced(i) }
	:: d_step { fence > 0 && !over[1] -> fence--; i = 1; fenced(i) }
#ifdef BUG_FENCE
	:: d_step { over[0] && qp[0] -> qp[0] = 0; fly[0] = 0 }
	:: d_step { over[1] && qp[1] -> qp[1] = 0; fly[1] = 0 }
#endif
	od
}

/* quiescence: what was deleted is free, and none waits */
proctype Mon()
{
	timeout;
	assert(!deleted);
	assert(!owe[0] && !owe[1]);
	assert(!(asking[0] && !over[0]) && !(asking[1] && !over[1]))
}

init {
	atomic { run Client(0); run Client(1); run Home(); run Mon() }
}
