/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Places where a test holds a task, to open a window that is narrow otherwise.
 * Nothing is left of them but in a build with TALLY_FAULTS=1: kmod/tests/delay.c
 * says how they are set.
 */
#ifndef TALLY_DELAY_H
#define TALLY_DELAY_H

/* kmod/tests/delay.c has their names. */
enum tally_delay {
	/* home: an OPEN is served, and what it opens has not been looked for */
	TALLY_DELAY_OPEN,
	/* home: a CLOSE is served, and what it closes has not been looked for */
	TALLY_DELAY_CLOSE,
	/* home: a message about an object came, whose rights stand */
	TALLY_DELAY_MESSAGE,
	/* home: a SET of a peer has read the counter, and goes on with that */
	TALLY_DELAY_COUNTER_SET,
	/* home: keys of a region are made, and the answer is not on its way */
	TALLY_DELAY_REGION_MAP,
	/* home: an object is made and has its name, and cannot be found yet */
	TALLY_DELAY_OBJECT_ADD,
	/* home: sessions are told that an object goes, its type is not yet */
	TALLY_DELAY_OBJECT_DEL,
	/* a session is LIVE, and nothing above it has heard of that */
	TALLY_DELAY_LINK_LIVE,
	/* client: a lock is about to be bound to the session it is used in */
	TALLY_DELAY_LOCK_BIND,
	/* client: OPEN is answered, and the handle does not know yet */
	TALLY_DELAY_OPENED,
	/* a session is OVER, and its holders have not heard of that */
	TALLY_DELAY_LOST,
	/* what is held at a peer is given up, and GOODBYE is not sent yet */
	TALLY_DELAY_GOODBYE,
	/* initiator: READY came, and nothing has been made of it */
	TALLY_DELAY_READY,
	/* initiator: ACTIVE_ACK came, and the session is not LIVE yet */
	TALLY_DELAY_ACTIVE,
	/* RENEW or its answer came, and nothing has been made of it */
	TALLY_DELAY_RENEW,
	/* a request came, and its slot has not been looked at */
	TALLY_DELAY_REQUEST,
	/* client: a sync takes a lane as done, and has not asked on it */
	TALLY_DELAY_REGION_SYNC,
	/* a session has begun, and its peer does not know it yet */
	TALLY_DELAY_SESSION_START,
	/* all that a session had is given up, and its peer still knows it */
	TALLY_DELAY_SESSION_OVER,
	/* a conn was asked for and knows its device, and has no QP */
	TALLY_DELAY_ACCEPT,
	/* a device is asked whether it can do atomics */
	TALLY_DELAY_PROBE,
	/* client: the home wants an object forgotten, and no user knows */
	TALLY_DELAY_FORGET,
	/* client: ATTACH is answered, and the view does not know yet */
	TALLY_DELAY_ATTACHED,
	/* client: another one hands a lock over, and nothing has been made of it */
	TALLY_DELAY_HANDOVER,
	/* a file's owner may change it, and has not yet */
	TALLY_DELAY_SET_OWNER,
	/* client: a part of a transfer is about to be sent */
	TALLY_DELAY_XFER,
	/* initiator: its conn is up, and HELLO is not made */
	TALLY_DELAY_HELLO,
	/* a message came, and the state of its link is not known to be what it was */
	TALLY_DELAY_LINK_MESSAGE,
	/* a peer that is deleted has no session any more, and is still listed */
	TALLY_DELAY_PEER_STOP,
	/* a node that stops has found a peer, with the lock of the node */
	TALLY_DELAY_PEERS_STOP,
	/* home: an attachment is asked for again and found, and not looked at */
	TALLY_DELAY_ATTACH_AGAIN,
	/* all were told that the machine is about to sleep */
	TALLY_DELAY_SLEEP,
	/* home: a part of a region was made zero, and another follows */
	TALLY_DELAY_REGION_ZERO,
	/* home: a peer wants to know whose something is */
	TALLY_DELAY_STAT,
	__TALLY_DELAYS
};

/* May sleep. */
#ifdef TALLY_FAULT_H
#define tally_delay(point)	tally_fault_delay(TALLY_DELAY_##point)
#else
#define tally_delay(point)	((void)TALLY_DELAY_##point)
#endif

#endif
