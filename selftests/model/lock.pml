// SPDX-License-Identifier: GPL-2.0
/*
 * One lock, one home, NC client nodes. A word operation is two steps, execution
 * and completion; a message takes one. Every run is finite: that none is
 * stuck is asserted where nothing more can happen (process Mon).
 *
 * Switches (-D for spin):
 *   L0 L1 L2   acquisitions of each client (default 1)
 *   M0 M1 M2   modes it may ask for: 1 X, 2 S, 3 both (default 3)
 *   STICKY     a node may keep the lock after the local unlock (cached)
 *   DIRECT     an acquirer may skip the word and send ENQUEUE at once
 *   HOMEMODE   arena without words (cpu mode): managed for ever
 *   NOSLOT=m   nodes in this bit mask have no slot: they only ever ENQUEUE
 *   CANCEL TRY UPDOWN   operations of users
 *   ASK        with TRY: holders are asked whether they are idle (not with
 *              ADMIN); without it a try is denied where a node holds
 *   HOG        users stay until they are called back or none waits
 *   MEET       readers stay until no other waits to read, here or at another node,
 *              so writers must be able to give up: with CANCEL, if there are any
 *   SHARE      behind a user of X the next one here may be a reader
 *   ADOPT      with CANCEL: a new user takes over a cancelled request
 *   BUDGET=n   after a recall up to n more local users are served (cohort)
 *   ADMIN=n    the administrator breaks the lock n times
 *   CRASH      a client loses its session and never comes back
 *   BREAK      a client-home link breaks and is resumed within the lease
 *   PBREAK     a client-client link breaks
 *   LOOPBRK=n  the home's loopback breaks n times, its operation in doubt (B33)
 *   RESTART    the home loses its memory once and starts anew, with grace
 *   FAULTS=n   up to n of CRASH, BREAK, PBREAK together (default 1)
 *   REJOIN     a client that lost its session attaches again
 *   RIGHTS=n   n clients have their rights withdrawn once, and open the lock again
 *   NOLINK     a holder may have no link to its announced successor
 *   TOKENS     the token word and the order of tokens
 *   CHAIN=n    successors announced ahead, 1 to 3 (default 2: with three clients
 *              a third one is there only beside one that is dead)
 *   EVIL=n     client 2 keeps to no rule: it says n things, whatever they may be,
 *              by message alone, and hears all; then it is not asserted that
 *              others get the lock
 *   BUG_*      brings a mistake back: see mistakes
 */
#ifndef NC
#define NC 3
#endif
#ifndef L0
#define L0 1
#endif
#ifndef L1
#define L1 1
#endif
#ifndef L2
#define L2 1
#endif
#ifndef M0
#define M0 3
#endif
#ifndef M1
#define M1 3
#endif
#ifndef M2
#define M2 3
#endif
#ifdef STICKY
#define KEEP 1
#else
#define KEEP 0
#endif
#ifndef CAP
#define CAP 8
#endif
#ifndef CHAIN
#define CHAIN 2
#endif
#ifndef NOSLOT
#define NOSLOT 0
#endif
#if defined(DIRECT) || defined(HOMEMODE)
#define DIRECTLY 1
#else
#define DIRECTLY 0
#endif
#ifdef HOMEMODE
#define WORDS 0
#else
#define WORDS 1
#endif
#if defined(REJOIN) || defined(RESTART)
#define EPOCHS
#endif
#ifdef EVIL
#define BAD(i) (i == 2)
#define GENS 8  /* it speaks of generations below */
#else
#define BAD(i) false
#endif
#define EPOCH 100	/* tokens after a restart begin here */

#define X 1
#define S 2
#define NONE 7
#define NOWAY 6  /* early SUCC without a link to the next */
#ifdef ASK
#define ASKS true
#else
#define ASKS false
#endif
#define BIT(i) (1<<(i))
#define SLOT(i) (!(NOSLOT & BIT(i)))
/* recalled; is what i has, or will have, shared; may only readers be inside its X? */
#define REC(i) (rv[i] || sg[i] != 0)
#define SHARED(i) ((st[i]==DBT && dk[i]==DNF) || (md[i]==S && st[i]!=UPF && !(st[i]==DBT && dk[i]==UPF)))
#define READERS(i) (st[i]==HOLD && md[i]==X && ins[i])
#ifdef HOG
#define LEAVES(i) (REC(i) || (st[0] != WAIT && st[1] != WAIT && st[2] != WAIT))
#elif defined(MEET)
#define READS(j) (st[j]==WAIT && md[j]==S && !canc[j])
#define LEAVES(i) (!(md[i]==S || ins[i]) || !(READS(0) || READS(1) || READS(2) || (left[i] > 1 && (modes & S))))
#else
#define LEAVES(i) true
#endif
#ifdef MEET     /* readers, which others stay for, do not */
#define GIVESUP(i) (md[i] == X)
#else
#define GIVESUP(i) true
#endif

/* client -> home */
#define ENQ  1 /* a=mode b=try            */
#define CAN  2
#define REL  3 /* a=gen b=shows its pass c=1: never had it, and will not take it */
#define DONE 4 /* a=gen b=shows its pass  */
#define REL0 5 /* look at the word again  */
#define DOWN 6 /* a=gen b=shows its pass  */
#define UPG  7 /* a=gen b=shows its pass  */
#define LOST 8 /* a=gen handed over, delivery unknown */
#define RSY  9 /* a=pending b=held gen c=last gen; 64 in a: no pass of b */
#define BUSY 10 /* a=gen: asked whether idle, and is not */
/* home -> client */
#define GRANT 11 /* a=gen                 */
#define SUCC  12 /* a=gen b=next c=nextgen*/
#define REVK  13 /* a=gen, 0: fast hold b=1: at once, 2: if idle c=S: for readers, or none waits */
#define CAND  14 /* a=gen, if it was announced */
#define DENY  15
#define UPGD  16 /* a=new gen             */

/* client states */
#define IDLE 0
#define XATT 1  /* CAS executed, completion outstanding      */
#define SATT 2  /* FAA(+bit) executed, completion outstanding */
#define WAIT 3  /* request at the home                       */
#define HOLD 4
#define CACHED 5
#define RELF 6  /* release FAA executed, completion outstanding */
#define DBT  7  /* word operation in doubt                   */
#define DNF  8  /* downgrade FAA executed                    */
#define UPF  9  /* upgrade CAS executed                      */
#define UPW 10  /* managed upgrade asked                     */
#define DEAD 11

/* home modes */
#define FASTM 0
#define SETW 1
#define SETW2 2 /* executed, completion outstanding */
#define DRAIN 3
#define MAN 4
#define CLRW 5
#define CLRW2 6

/* ---- the word pair ---- */
byte own;           /* 0, or node+1 */
byte bits;
#ifdef HOMEMODE
bit W = 1;
#else
bit W;
#endif
#ifdef TOKENS
byte tok; byte maxX; byte maxA;
#endif

/* ---- clients ---- */
byte st[NC], left[NC], md[NC], g[NC], lg[NC];
byte sn[NC] = NONE, sg[NC];
byte eg[NC], en[NC] = NONE, esg[NC];    /* early SUCC/REVOKE */
bit ins[NC];        /* only readers are inside X */
bit fast[NC], rv[NC], canc[NC], tr[NC], res[NC], resW[NC];
byte claim[NC];     /* 0 none, 1 bit in, 2/3 removal executed (3: saw W), 4 in doubt */
bit up[NC] = 1, val[NC] = 1;
#ifdef BREAK
bit hup[NC] = 1;        /* the home has processed RESYNC */
#endif
#if defined(BREAK) && !defined(BUG_SYNCPARK)
/* a HANDOVER that comes between RESYNC and SYNCED is parked */
#define SYNCED(i) (!up[i] || hup[i])
#else
#define SYNCED(i) true
#endif
#ifdef ADOPT
bit cs[NC];         /* CANCEL was sent for this request */
#define NOCS(i) cs[i] = 0
#else
#define NOCS(i) skip
#endif
#ifdef ADMIN
bit brkn[NC];         /* broken while an operation was in flight */
byte adm = ADMIN; bit fb;
#define BROKEN(i) brkn[i]
#define NOBRKN(i) brkn[i] = 0
#define FORCE fb
#else
#define BROKEN(i) false
#define NOBRKN(i) skip
#define FORCE 0
#endif
#ifdef BUDGET
byte bud[NC];
#define NOBUD(i) bud[i] = 0
#ifdef BUG_BUDGET
#define MORE(i) true
#else
#define MORE(i) (bud[i] < BUDGET)
#endif
#else
#define NOBUD(i) skip
#endif
#ifdef LOOPBRK
byte lb = LOOPBRK;
#endif
#ifdef ASK
byte qt;            /* the node whose try is in the queue, plus 1 */
byte asked;         /* holders asked whether they are idle, for this try */
#endif
#ifdef RESTART
bit rst = 1, grace, old[NC];
#define GRACE grace
#else
#define GRACE false
#endif
byte dk[NC];        /* kind of operation in doubt */
byte lh[NC], lhn[NC];
#ifdef BUG_B11
byte ghost[NC];
#endif
#if defined(CRASH) || defined(BREAK) || defined(PBREAK)
#ifndef FAULTS
#define FAULTS 1
#endif
byte flt = FAULTS;
#else
#define flt 0
#endif

/* ---- home ---- */
#ifdef HOMEMODE
byte hm = MAN;
#else
byte hm;
#endif
byte F;             /* nodes that may still hold in shared mode by their bit */
byte fr;            /* fast holders asked to leave */
byte rb, ro;        /* value returned by the +W */
byte cur = NONE, hg, via = NONE;
bit crv;
bit cdn;            /* cur is shared, and may have handed over before */
byte mc[NC];        /* members of the chain: 1 said CANCEL, 2 was told CANCELLED */
byte suc[CHAIN] = NONE, sgn[CHAIN];     /* NONE with sgn: its session is dead; no sgn: behind the last */
byte SH[NC]; byte shrv;
byte ng;
bit dead[NC];

chan c2h[NC] = [CAP] of { byte, byte, byte, byte };
chan h2c[NC] = [CAP] of { byte, byte, byte, byte };
#ifdef EPOCHS
chan cc[NC]  = [3] of { byte, byte, byte };     /* inbound HANDOVER: from, gen, session epoch of the receiver */
byte ep[NC]; byte sep[NC]; byte eep[NC];        /* session epochs: own, of sn[], of early SUCC */
#define CCHAS(d,i) cc[d]??[eval(i),_,_]
#define CCGET(d,i) cc[d]??eval(i),z,z2
#define EPOK(i)    (z2 == ep[i])
#else
chan cc[NC]  = [3] of { byte, byte };   /* inbound HANDOVER: from, gen */
#define CCHAS(d,i) cc[d]??[eval(i),_]
#define CCGET(d,i) cc[d]??eval(i),z
#define EPOK(i)    true
#endif
chan hq = [NC] of { byte, byte };       /* queue: node, mode */

hidden byte mt, a, b, c, n, m, k, z, z2;
hidden byte stop;

#define TOHOME(i,ty,x,y,w) if :: up[i] -> c2h[i]!ty,x,y,w :: else fi
#if defined(BREAK) && !defined(BUG_SYNC)
/* after a break the home sends nothing before it has processed RESYNC */
#define TOCLI(i,ty,x,y,w)  if :: hup[i] && !dead[i] && !UNHEARD(i) -> h2c[i]!ty,x,y,w :: else fi
#else
#define TOCLI(i,ty,x,y,w)  if :: up[i] && !dead[i] && !UNHEARD(i) -> h2c[i]!ty,x,y,w :: else fi
#endif

/*
 * Rights are withdrawn (1): the home neither hears i nor speaks to it. It has forgotten all (2): the home
 * takes what it had. It has opened the lock again (3).
 */
#ifdef RIGHTS
byte rw = RIGHTS, wd[NC];
#define UNHEARD(i) (wd[i] == 1 || wd[i] == 2)
#ifdef BUG_RIGHTSNAME   /* SUCC names it all the same */
#define NAMED(i) true
#else
#define NAMED(i) (wd[i] == 0)
#endif
#ifdef BUG_RIGHTSHAND   /* it takes what it is handed all the same */
#define TAKES(i) (wd[i] != 2)
#else
#define TAKES(i) (wd[i] < 2)
#endif
#else
#define UNHEARD(i) false
#define NAMED(i) true
#define TAKES(i) true
#endif

#define QSOME (len(hq) > 0)
#define QNONE (len(hq) == 0)
#define QHAS(i) (hq??[eval(i),_])

#define ISIN(j) (val[j] && (st[j]==HOLD || st[j]==CACHED || st[j]==DNF || st[j]==UPF || st[j]==UPW))
#define ISX(j) (ISIN(j) && md[j]==X)

/* what client 2 believes to have is nothing if it is EVIL */
inline mutex()
{
	assert(!(ISX(0) && (ISIN(1) || ISIN(2))));
	assert(!(ISX(1) && (ISIN(0) || ISIN(2))));
	assert(!(ISX(2) && (ISIN(0) || ISIN(1))));
}

inline newtoken(i, v)
{
#ifdef TOKENS
	if
	:: md[i] == X -> assert(v > maxA); maxX = v; maxA = v
	:: else -> assert(v > maxX); if :: v > maxA -> maxA = v :: else fi
	fi
#else
	skip
#endif
}

/* ===================== client ===================== */

inline forget(i)
{
	g[i] = 0; sn[i] = NONE; sg[i] = 0; rv[i] = 0; fast[i] = 0; md[i] = 0; ins[i] = 0;
	NOBRKN(i); NOBUD(i)
}
inline noearly(i) { eg[i] = 0; en[i] = NONE; esg[i] = 0 }

inline faa_token(i)     /* executed with the completion of the chained pair */
{
#ifdef TOKENS
	tok++;
#endif
	skip
}

inline release(i)
{
	ins[i] = 0;
	if
	:: fast[i] && up[i] && md[i] == X ->
		assert(own == i+1);
		own = 0; resW[i] = W; st[i] = RELF
	:: fast[i] && up[i] && md[i] == S ->
		assert(bits & BIT(i));
		bits = bits & ~BIT(i); resW[i] = W; st[i] = RELF
	:: fast[i] && !up[i] -> st[i] = DBT; dk[i] = RELF;
#ifdef BUG_B11
		ghost[i] = (md[i] == X -> 3 : 4)
#endif
	:: !fast[i] && sn[i] != NONE && md[i] == X ->
#ifdef EPOCHS
		cc[sn[i]]!i,sg[i],sep[i];
#else
		cc[sn[i]]!i,sg[i];
#endif
#ifdef PBREAK
		lh[i] = sg[i]; lhn[i] = sn[i];
#endif
		TOHOME(i, DONE, g[i], 1, 0);
		st[i] = IDLE; forget(i)
	:: else ->
		TOHOME(i, REL, g[i], 1, 0);
		st[i] = IDLE; forget(i)
	fi;
#ifdef BUG_B4
	if :: st[i] == RELF && bits != 0 -> resW[i] = 0 :: else fi;
#endif
	skip
}

/* readers go on inside; what was announced is forgotten, as nothing may be handed over any more */
inline down(i)
{
	ins[i] = 0; rv[i] = (sg[i] != 0); sn[i] = NONE; sg[i] = 0;
	if
	:: fast[i] && up[i] ->
		assert(own == i+1 && !(bits & BIT(i)));
		own = 0; bits = bits | BIT(i); resW[i] = W; md[i] = S; st[i] = DNF
	:: fast[i] && !up[i] -> st[i] = DBT; dk[i] = DNF        /* not posted */
	:: else -> md[i] = S; TOHOME(i, DOWN, g[i], 1, 0)
	fi
}

/* a reader is next in X: other nodes' readers are not to wait for ours */
inline reads(i)
{
	ins[i] = 1;
	if :: READERS(i) && sg[i] == 0 && (rv[i] || !KEEP) -> down(i) :: else fi
}

/* another node waits: for readers of now, or of then, this shared tenure may stay */
inline recall(i)
{
	if
	:: c == S && SHARED(i) -> rv[i] = BROKEN(i)
	:: else ->
		rv[i] = 1;
#ifdef ADMIN
		brkn[i] = brkn[i] | b;
#endif
#ifndef BUG_SHARE
		if :: READERS(i) && sg[i] == 0 && !BROKEN(i) -> down(i) :: else fi
#endif
	fi
}

inline accept(i, gen)   /* GRANT or HANDOVER */
{
	if
#ifdef BUG_B16
	:: st[i] == WAIT && canc[i] -> canc[i] = 0; st[i] = IDLE; md[i] = 0; left[i]--
#endif
#ifdef BUG_GRANTDUP
	:: st[i] == WAIT ->
#else
	:: st[i] == WAIT && gen > lg[i] ->
#endif
		lg[i] = gen; g[i] = gen; fast[i] = 0;
		if
		:: eg[i] == gen && en[i] != NONE && md[i] == X -> sn[i] = (en[i] == NOWAY -> NONE : en[i]); sg[i] = esg[i];
#ifdef EPOCHS
			sep[i] = eep[i]
#endif
		:: eg[i] == gen && en[i] == NONE -> rv[i] = 1;
#ifdef ADMIN
			brkn[i] = esg[i]
#endif
		:: else
		fi;
		noearly(i);
		if
		:: canc[i] -> st[i] = CACHED; left[i]--
		:: else -> st[i] = HOLD
		fi;
		canc[i] = 0; tr[i] = 0; NOCS(i);
		mutex();
		newtoken(i, gen)
	:: else         /* duplicate or stale */
	fi
}

#ifdef ADMIN
#define EARLYBRK(i, gen) (eg[i] == gen && en[i] == NONE && esg[i] != 0)
#else
#define EARLYBRK(i, gen) 0
#endif

inline crecv(i)
{
	if
	:: mt == GRANT -> accept(i, a)
	:: mt == SUCC ->
		if
#ifdef BUG_B14
		:: (st[i]==HOLD || st[i]==CACHED) && !fast[i] && b != NONE -> sn[i] = b & 7; sg[i] = c
#endif
		:: (st[i]==HOLD || st[i]==CACHED || st[i]==UPW) && !fast[i] && g[i] == a ->
			if
			:: md[i] == X -> sn[i] = b & 7; sg[i] = c;      /* NONE: no link to it */
#ifdef EPOCHS
				sep[i] = b/8
#endif
			:: else -> rv[i] = 1    /* downgraded meanwhile */
			fi
#ifndef BUG_EARLYSUCC
		/* the later one wins, whole; what is to be lost at once stays so */
		:: st[i] == WAIT && a > lg[i] && !EARLYBRK(i, a) -> eg[i] = a; en[i] = (b == NONE -> NOWAY : b & 7); esg[i] = c;
#ifdef EPOCHS
			eep[i] = (b == NONE -> 0 : b/8)
#endif
#endif
		:: else
		fi
#ifdef ASK
	:: mt == REVK && b == 2 ->
		if
		:: st[i]==CACHED && (a == 0 -> fast[i] : (!fast[i] && g[i] == a)) -> release(i)
		:: c == S && READERS(i) && sg[i] == 0 && (a == 0 -> fast[i] : (!fast[i] && g[i] == a)) -> down(i)
#ifndef BUG_BUSY
		:: !(c == S && READERS(i) && sg[i] == 0 && (a == 0 -> fast[i] : (!fast[i] && g[i] == a))) && (
		   (a == 0 && ((st[i]==HOLD && fast[i]) || st[i]==XATT || st[i]==SATT || st[i]==DNF || st[i]==UPF || (st[i]==DBT && dk[i]!=RELF))) ||
		   (a != 0 && (((st[i]==HOLD || st[i]==UPW) && !fast[i] && g[i] == a) || (st[i]==WAIT && a > lg[i])))) ->
			TOHOME(i, BUSY, a, 0, 0)
#endif
		:: else
		fi
	:: mt == REVK && b != 2 && a == 0 ->
#else
	:: mt == REVK && a == 0 ->
#endif
		if
		:: (st[i]==HOLD || st[i]==CACHED) && fast[i] -> recall(i)
#ifndef BUG_REVINFLIGHT
		:: st[i]==XATT || st[i]==SATT || st[i]==DNF || st[i]==UPF || (st[i]==DBT && dk[i]!=RELF) -> recall(i)
#endif
		:: else
		fi
#ifdef ASK
	:: mt == REVK && b != 2 && a != 0 ->
#else
	:: mt == REVK && a != 0 ->
#endif
		if
		:: (st[i]==HOLD || st[i]==CACHED || st[i]==UPW) && !fast[i] && g[i] == a -> recall(i)
		:: st[i] == WAIT && a > lg[i] && c == S && md[i] == S -> noearly(i)
		:: st[i] == WAIT && a > lg[i] && !(c == S && md[i] == S) -> eg[i] = a; en[i] = NONE; esg[i] = b
		:: else
		fi
	:: mt == CAND && a != 0 && !(st[i] == WAIT && a > lg[i]) -> skip        /* it was had, and given back */
	:: mt == CAND && (a == 0 || (st[i] == WAIT && a > lg[i])) ->
		if
		:: a != 0 ->
#ifndef BUG_LEFTLAST
			lg[i] = a;      /* what it may be handed comes too late */
#endif
			TOHOME(i, REL, a, 0, 1)
		:: else
		fi;
#ifdef ADOPT
		assert(st[i] == WAIT && cs[i]);
#ifdef BUG_ADOPT	/* the adopted request is believed to live on */
		if
		:: canc[i] -> st[i] = IDLE; md[i] = 0; left[i]--; noearly(i)
		:: else
		fi;
#else
		st[i] = IDLE; md[i] = 0; noearly(i);
		if :: canc[i] -> left[i]-- :: else fi;
#endif
		canc[i] = 0; cs[i] = 0
#else
		assert(st[i] == WAIT && canc[i]);
		st[i] = IDLE; canc[i] = 0; md[i] = 0; left[i]--; noearly(i)
#endif
	:: mt == DENY ->
		if
		:: st[i] == UPW -> st[i] = HOLD
		:: else ->
			assert(st[i] == WAIT && tr[i]);
			st[i] = IDLE; canc[i] = 0; tr[i] = 0; md[i] = 0; left[i]--; noearly(i)
		fi
	:: mt == UPGD ->
		assert(st[i] == UPW);
		st[i] = HOLD; md[i] = X; g[i] = a; lg[i] = a; rv[i] = 0;
		mutex(); newtoken(i, a)
	fi
}

inline enqueue(i)
{
	TOHOME(i, ENQ, md[i], tr[i], 0);
	st[i] = WAIT; rv[i] = 0; NOBRKN(i)
}

proctype Client(byte i; byte modes)
{
end:	do
	/* ---- start an acquisition ---- */
#ifndef HOMEMODE
	:: d_step { st[i]==IDLE && left[i]>0 && SLOT(i) && claim[i]==0 && up[i] && (modes & X) ->
		md[i] = X;
		if
		:: own==0 && bits==0 && !W -> own = i+1; res[i] = 1
		:: else -> res[i] = 0
		fi;
		resW[i] = W; st[i] = XATT }
	:: d_step { st[i]==IDLE && left[i]>0 && SLOT(i) && claim[i]==0 && up[i] && (modes & S) ->
		md[i] = S;
		assert(!(bits & BIT(i)));
		res[i] = (own==0 && !W); resW[i] = W;
		bits = bits | BIT(i); st[i] = SATT }
#ifdef TRY
	:: d_step { st[i]==IDLE && left[i]>0 && SLOT(i) && claim[i]==0 && up[i] && (modes & X) ->
		md[i] = X; tr[i] = 1;
		if
		:: own==0 && bits==0 && !W -> own = i+1; res[i] = 1
		:: else -> res[i] = 0
		fi;
		resW[i] = W; st[i] = XATT }
	:: d_step { st[i]==IDLE && left[i]>0 && SLOT(i) && claim[i]==0 && up[i] && (modes & S) ->
		md[i] = S; tr[i] = 1;
		assert(!(bits & BIT(i)));
		res[i] = (own==0 && !W); resW[i] = W;
		bits = bits | BIT(i); st[i] = SATT }
#endif
#ifdef BREAK
	/* posted while the link is down: not executed, in doubt */
	:: d_step { st[i]==IDLE && left[i]>0 && SLOT(i) && claim[i]==0 && !up[i] && val[i] && (modes & X) ->
#ifdef BUG_B11
		ghost[i] = 1;
#endif
		md[i] = X; st[i] = DBT; dk[i] = XATT }
	:: d_step { st[i]==IDLE && left[i]>0 && SLOT(i) && claim[i]==0 && !up[i] && val[i] && (modes & S) ->
#ifdef BUG_B11
		ghost[i] = 2;
#endif
		md[i] = S; st[i] = DBT; dk[i] = SATT }
#endif
#endif
#if DIRECTLY || NOSLOT
	:: d_step { st[i]==IDLE && left[i]>0 && (DIRECTLY || !SLOT(i)) && (modes & X) -> md[i] = X; enqueue(i) }
	:: d_step { st[i]==IDLE && left[i]>0 && (DIRECTLY || !SLOT(i)) && (modes & S) -> md[i] = S; enqueue(i) }
#ifdef TRY
	:: d_step { st[i]==IDLE && left[i]>0 && (DIRECTLY || !SLOT(i)) && (modes & X) -> md[i] = X; tr[i] = 1; enqueue(i) }
	:: d_step { st[i]==IDLE && left[i]>0 && (DIRECTLY || !SLOT(i)) && (modes & S) -> md[i] = S; tr[i] = 1; enqueue(i) }
#endif
#endif
	/* ---- completions ---- */
	:: d_step { st[i]==XATT && up[i] ->
		faa_token(i);
		if
		:: res[i] -> st[i] = HOLD; fast[i] = 1; tr[i] = 0; res[i] = 0; resW[i] = 0; mutex();
#ifdef TOKENS
			newtoken(i, tok)
#endif
		:: !res[i] && tr[i] && !resW[i] && !ASKS -> st[i] = IDLE; tr[i] = 0; rv[i] = 0; md[i] = 0; left[i]--
		:: else -> resW[i] = 0; enqueue(i)
		fi }
	:: d_step { st[i]==SATT && up[i] ->
		faa_token(i);
		if
		:: res[i] -> st[i] = HOLD; fast[i] = 1; tr[i] = 0; res[i] = 0; resW[i] = 0; mutex();
#ifdef TOKENS
			newtoken(i, tok)
#endif
		:: !res[i] && tr[i] && !resW[i] && !ASKS -> claim[i] = 1; st[i] = IDLE; tr[i] = 0; rv[i] = 0; md[i] = 0; left[i]--
		:: else -> resW[i] = 0; claim[i] = 1; enqueue(i)
		fi }
	:: d_step { st[i]==RELF && up[i] ->
		if :: resW[i] -> c2h[i]!REL0,0,0,0 :: else fi;
		resW[i] = 0; st[i] = IDLE; forget(i) }
	/* claim removal: any time after the failed attempt, before the next word operation */
#ifdef BUG_B4   /* claim kept while waiting, and only the last bit out reports */
	:: d_step { claim[i]==1 && up[i] && st[i] != WAIT ->
#else
	:: d_step { claim[i]==1 && up[i] ->
#endif
		assert(bits & BIT(i));
		bits = bits & ~BIT(i); claim[i] = 2 + W
#ifdef BUG_B4
		; if :: bits != 0 -> claim[i] = 2 :: else fi
#endif
		}
	:: d_step { (claim[i]==2 || claim[i]==3) && up[i] ->
		if :: claim[i]==3 -> c2h[i]!REL0,0,0,0 :: else fi;
		claim[i] = 0 }
	/* ---- use ---- */
	:: d_step { st[i]==HOLD && KEEP && LEAVES(i) && !REC(i) -> left[i]--; st[i] = CACHED; ins[i] = 0 }
#ifdef BUG_B2   /* release by CAS(me -> 0), retried until it succeeds */
	:: d_step { st[i]==HOLD && !(fast[i] && md[i]==X && (bits != 0 || W)) -> left[i]--; release(i) }
#else
	:: d_step { st[i]==HOLD && LEAVES(i) -> left[i]--; release(i) }
#endif
	:: d_step { st[i]==CACHED && left[i]>0 && !REC(i) && (md[i]==X || (modes & S)) -> st[i] = HOLD }
	:: d_step { st[i]==CACHED && left[i]>0 && !REC(i) && md[i]==X && (modes & S) -> st[i] = HOLD; reads(i) }
	:: d_step { st[i]==CACHED && (REC(i) || !KEEP || (left[i]>0 && md[i]==S && (modes & X))) -> release(i) }
#ifdef ADMIN     /* the users are told that it is lost, and it is given back at once */
	:: d_step { (st[i]==HOLD || st[i]==CACHED) && brkn[i] ->
		if :: st[i]==HOLD -> left[i]-- :: else fi;
		if
		:: fast[i] -> release(i)
		:: else -> TOHOME(i, REL, g[i], 1, 0); st[i] = IDLE; forget(i)
		fi; NOBRKN(i) }
#endif
#ifdef BUDGET
	:: d_step { st[i]==HOLD && md[i]==X && REC(i) && left[i] > 1 && !BROKEN(i) && MORE(i) ->
		left[i]--; bud[i]++; ins[i] = 0; assert(bud[i] <= BUDGET) }
	:: d_step { st[i]==HOLD && md[i]==X && REC(i) && left[i] > 1 && !BROKEN(i) && MORE(i) && (modes & S) ->
		left[i]--; bud[i]++; assert(bud[i] <= BUDGET); reads(i) }
#endif
#ifdef SHARE
	:: d_step { st[i]==HOLD && md[i]==X && !ins[i] && !REC(i) && left[i] > 1 && (modes & S) -> left[i]--; reads(i) }
#endif
#ifdef MEET      /* others come in beside the reader that is inside */
	:: d_step { st[i]==HOLD && (md[i]==S || ins[i]) && !REC(i) && left[i] > 1 && (modes & S) -> left[i]-- }
#endif
#ifdef NOLINK    /* no link to the announced node: REL, the home grants */
	:: d_step { (st[i]==HOLD || st[i]==CACHED) && !fast[i] && md[i]==X && sn[i]!=NONE -> sn[i] = NONE }
#endif
#ifdef CANCEL
#ifdef ADOPT
	:: d_step { st[i]==WAIT && !canc[i] && !tr[i] -> canc[i] = 1;
		if :: !cs[i] -> cs[i] = 1; TOHOME(i, CAN, 0, 0, 0) :: else fi }
	:: d_step { st[i]==WAIT && canc[i] && left[i] > 1 -> canc[i] = 0; left[i]-- }
#else
	:: d_step { st[i]==WAIT && !canc[i] && !tr[i] && GIVESUP(i) -> canc[i] = 1; TOHOME(i, CAN, 0, 0, 0) }
#endif
#endif
#ifdef UPDOWN
	:: d_step { st[i]==HOLD && md[i]==X && !ins[i] && (up[i] || !fast[i]) -> down(i) }
	:: d_step { READERS(i) && (modes & X) && left[i] > 1 -> left[i]--; ins[i] = 0 }
	:: d_step { st[i]==HOLD && fast[i] && md[i]==S && up[i] && !REC(i) && (modes & X) && left[i] > 1 ->
		left[i]--;
		if
		:: own==0 && bits==BIT(i) && !W -> own = i+1; bits = 0; res[i] = 1; md[i] = X
		:: else -> res[i] = 0
		fi; st[i] = UPF; mutex() }
	:: d_step { st[i]==UPF && up[i] ->
		faa_token(i);
		st[i] = HOLD; 
#ifdef TOKENS
		if :: res[i] -> newtoken(i, tok) :: else fi;
#endif
		res[i] = 0 }
	:: d_step { st[i]==HOLD && !fast[i] && md[i]==S && up[i] && !REC(i) && (modes & X) && left[i] > 1 ->
		left[i]--; st[i] = UPW; c2h[i]!UPG,g[i],1,0 }
#endif
	:: d_step { st[i]==DNF && up[i] ->
		if :: resW[i] -> c2h[i]!REL0,0,0,0 :: else fi;
		resW[i] = 0; st[i] = HOLD }
	/* ---- messages ---- */
	:: d_step { h2c[i]?mt,a,b,c -> crecv(i) }
#ifdef NOLINK
	:: d_step { h2c[i]?[SUCC,_,_,_] -> h2c[i]?mt,a,b,c; b = NONE; crecv(i) }
#endif
	:: d_step { CCHAS(i,(i+1)%NC) && val[i] && SYNCED(i) -> CCGET(i,(i+1)%NC);
		if :: EPOK(i) && TAKES(i) -> accept(i, z) :: else fi; z = 0; z2 = 0 }
	:: d_step { CCHAS(i,(i+2)%NC) && val[i] && SYNCED(i) -> CCGET(i,(i+2)%NC);
		if :: EPOK(i) && TAKES(i) -> accept(i, z) :: else fi; z = 0; z2 = 0 }
	/* ---- faults ---- */
#if defined(CRASH) || defined(BREAK)
	:: d_step { flt > 0 && up[i] ->
		flt--; up[i] = 0;
#ifdef BREAK
		hup[i] = 0;
#endif
		do :: nempty(c2h[i]) -> c2h[i]?mt,a,b,c :: empty(c2h[i]) -> break od;
		do :: nempty(h2c[i]) -> h2c[i]?mt,a,b,c :: empty(h2c[i]) -> break od;
		res[i] = 0; resW[i] = 0;
		if
		:: st[i]==XATT || st[i]==SATT || st[i]==RELF || st[i]==DNF || st[i]==UPF -> dk[i] = st[i]; st[i] = DBT
		:: else
		fi;
		if :: claim[i]==2 || claim[i]==3 -> claim[i] = 4 :: else fi }
#endif
#ifdef BREAK
	/* resume: the home has destroyed the old responder QP; resync is the first message */
	:: d_step { !up[i] && val[i] ->
		up[i] = 1;
#ifdef ADOPT
		a = (st[i]==WAIT -> md[i] + 4*cs[i] + 8*tr[i] : 0);
#else
		a = (st[i]==WAIT -> md[i] + 4*canc[i] + 8*tr[i] : 0);
#endif
		b = (((st[i]==HOLD || st[i]==CACHED || st[i]==UPW) && !fast[i]) -> g[i] : 0);
		if :: b != 0 && md[i] == S -> a = a + 16 :: else fi;
		if :: st[i] == UPW -> a = a + 32 :: else fi;
		if :: SHARED(i) -> rv[i] = BROKEN(i) :: else fi;         /* the home asks again */
		c2h[i]!RSY,a,b,lg[i] }
	/* in-doubt operations: READ the word */
	:: d_step { st[i]==DBT && up[i] ->
		if
		:: dk[i]==XATT && own==i+1 -> faa_token(i); st[i] = HOLD; fast[i] = 1; mutex();
#ifdef TOKENS
			newtoken(i, tok)
#endif
		:: dk[i]==XATT && own!=i+1 -> st[i] = IDLE; rv[i] = 0; md[i] = 0; tr[i] = 0
		:: dk[i]==SATT && (bits & BIT(i)) && own==0 && !W -> faa_token(i); st[i] = HOLD; fast[i] = 1; mutex();
#ifdef TOKENS
			newtoken(i, tok)
#endif
		:: dk[i]==SATT && (bits & BIT(i)) && (own!=0 || W) -> claim[i] = 1; enqueue(i)
		:: dk[i]==SATT && !(bits & BIT(i)) -> st[i] = IDLE; rv[i] = 0; md[i] = 0; tr[i] = 0
		:: dk[i]==RELF && ((md[i]==X && own==i+1) || (md[i]==S && (bits & BIT(i)))) -> release(i)
		:: dk[i]==RELF && !((md[i]==X && own==i+1) || (md[i]==S && (bits & BIT(i)))) ->
			if :: W -> c2h[i]!REL0,0,0,0 :: else fi;
			st[i] = IDLE; forget(i)
		:: dk[i]==DNF && own==i+1 -> own = 0; bits = bits | BIT(i); resW[i] = W; md[i] = S; st[i] = DNF
		:: dk[i]==DNF && own!=i+1 -> assert(bits & BIT(i)); st[i] = HOLD; if :: W -> c2h[i]!REL0,0,0,0 :: else fi
		:: dk[i]==UPF -> st[i] = HOLD; faa_token(i);
			if
			:: own==i+1 -> assert(md[i]==X);
#ifdef TOKENS
				newtoken(i, tok)
#endif
			:: else -> assert(md[i]==S && (bits & BIT(i)))
			fi
		fi;
		dk[i] = 0 }
	:: d_step { claim[i]==4 && up[i] ->
		if
		:: bits & BIT(i) -> claim[i] = 1
		:: else -> claim[i] = 0; if :: W -> c2h[i]!REL0,0,0,0 :: else fi
		fi }
#ifdef BUG_B11
	:: d_step { ghost[i] == 1 && up[i] -> ghost[i] = 0;
		if :: own==0 && bits==0 && !W -> own = i+1 :: else fi }
	:: d_step { ghost[i] == 2 && up[i] -> ghost[i] = 0; assert(!(bits & BIT(i))); bits = bits | BIT(i) }
	:: d_step { ghost[i] == 3 && up[i] -> ghost[i] = 0; assert(own==i+1); own = 0 }
	:: d_step { ghost[i] == 4 && up[i] -> ghost[i] = 0; assert(bits & BIT(i)); bits = bits & ~BIT(i) }
#endif
#endif
#ifdef CRASH
	/* lease over at the client (or it crashed); its HANDOVERs in flight arrive ... */
	:: d_step { !up[i] && val[i] ->
		val[i] = 0; st[i] = DEAD; left[i] = 0; claim[i] = 0; forget(i); noearly(i); canc[i] = 0; tr[i] = 0; dk[i] = 0; NOCS(i) }
	/* ... or are lost */
	:: d_step { !up[i] && val[i] && (CCHAS((i+1)%NC,i) || CCHAS((i+2)%NC,i)) ->
		val[i] = 0; st[i] = DEAD; left[i] = 0; claim[i] = 0; forget(i); noearly(i); canc[i] = 0; tr[i] = 0; dk[i] = 0; NOCS(i);
		do :: CCHAS((i+1)%NC,i) -> CCGET((i+1)%NC,i) :: !CCHAS((i+1)%NC,i) -> break od;
		do :: CCHAS((i+2)%NC,i) -> CCGET((i+2)%NC,i) :: !CCHAS((i+2)%NC,i) -> break od; z = 0; z2 = 0 }
#endif
#ifdef RIGHTS
	/* it is told; what it has is lost, what was posted has ended */
	:: d_step { wd[i]==1 && up[i] && val[i] && st[i]!=XATT && st[i]!=SATT && st[i]!=RELF && st[i]!=DNF && st[i]!=UPF && claim[i]!=2 && claim[i]!=3 ->
		do :: nempty(h2c[i]) -> h2c[i]?mt,a,b,c :: empty(h2c[i]) -> break od;
		wd[i] = 2; st[i] = IDLE; left[i] = 0; claim[i] = 0; forget(i); noearly(i); canc[i] = 0; tr[i] = 0; dk[i] = 0; NOCS(i);
		lg[i] = 0; lh[i] = 0; lhn[i] = 0 }
#endif
#ifdef REJOIN
	/* the node attaches again: new session, new epoch */
	:: d_step { !val[i] && dead[i] ->
		val[i] = 1; up[i] = 1; dead[i] = 0; st[i] = IDLE; left[i] = 1;
#ifdef BREAK
		hup[i] = 1;
#endif
#ifndef BUG_B13
		ep[i]++
#endif
		}
#endif
#ifdef RESTART
	/* its lease has ended, or the new home told it: everything of the old one is lost */
	:: d_step { old[i] ->
		old[i] = 0;
		if
		:: left[i] > 0 && st[i]!=IDLE && st[i]!=CACHED && st[i]!=RELF && !(st[i]==DBT && dk[i]==RELF) -> left[i]--
		:: else
		fi;
		st[i] = IDLE; claim[i] = 0; forget(i); noearly(i); canc[i] = 0; tr[i] = 0; dk[i] = 0; NOCS(i);
		res[i] = 0; resW[i] = 0; lg[i] = 0; up[i] = 1; ep[i]++;
#ifdef BREAK
		hup[i] = 1
#endif
		}
#endif
#ifdef PBREAK
	/* link between i and its last HANDOVER target breaks; delivered or not, i reports LOST */
	:: d_step { flt > 0 && lh[i] != 0 && CCHAS(lhn[i],i) ->
		flt--;
		do :: CCHAS(lhn[i],i) -> CCGET(lhn[i],i) :: !CCHAS(lhn[i],i) -> break od; z = 0; z2 = 0;
#ifndef BUG_LOST
		TOHOME(i, LOST, lh[i], 0, 0);
#endif
		lh[i] = 0; lhn[i] = 0 }
	:: d_step { flt > 0 && lh[i] != 0 && !CCHAS(lhn[i],i) ->
		flt--; TOHOME(i, LOST, lh[i], 0, 0); lh[i] = 0; lhn[i] = 0 }
#endif
	od
}

/* ===================== home ===================== */

inline grant(i)
{
	TOCLI(i, GRANT, hg, 0, 0)
}
#if CHAIN == 1
#define NOCHAIN suc[0] = NONE; sgn[0] = 0
#elif CHAIN == 2
#define NOCHAIN suc[0] = NONE; sgn[0] = 0; suc[1] = NONE; sgn[1] = 0
#else
#define NOCHAIN suc[0] = NONE; sgn[0] = 0; suc[1] = NONE; sgn[1] = 0; suc[2] = NONE; sgn[2] = 0
#endif
inline curclear() { cur = NONE; hg = 0; via = NONE; crv = 0; cdn = 0 }
/* the chain moves up by one: its first member, dead or not, is the holder */
inline shift()
{
	cur = suc[0]; hg = (suc[0] == NONE -> 0 : sgn[0]); via = NONE; crv = 0; cdn = 0;
	if :: cur != NONE -> mc[cur] = 0 :: else fi;
#if CHAIN > 1
	suc[0] = suc[1]; sgn[0] = sgn[1];
#endif
#if CHAIN > 2
	suc[1] = suc[2]; sgn[1] = sgn[2];
#endif
	suc[CHAIN-1] = NONE; sgn[CHAIN-1] = 0;
#ifdef ASK
	if :: cur != NONE -> asked = asked & ~BIT(cur) :: else fi;
#endif
	skip
}

/* a tenure has ended: the first of the chain that lives is granted the lock */
inline end_tenure()
{
	shift();
#ifndef BUG_CHAINSTOP   /* where the first is dead, it ends there */
	do
	:: cur == NONE && sgn[0] != 0 -> shift()
	:: else -> break
	od;
#endif
	if :: cur != NONE -> grant(cur) :: else fi
}

/* i handed over to the first of the chain; a dead one has nothing of it */
inline handed(i)
{
	if
	:: suc[0] == NONE -> end_tenure()
	:: else -> shift(); via = i
	fi
}

/* is i announced, in its session of now? */
#if CHAIN == 1
#define ANN(i) (suc[0] == i)
#define ANNGEN(i) sgn[0]
#elif CHAIN == 2
#define ANN(i) (suc[0] == i || suc[1] == i)
#define ANNGEN(i) (suc[0] == i -> sgn[0] : sgn[1])
#else
#define ANN(i) (suc[0] == i || suc[1] == i || suc[2] == i)
#define ANNGEN(i) (suc[0] == i -> sgn[0] : (suc[1] == i -> sgn[1] : sgn[2]))
#endif

/* one of the chain lives; and waits still */
#if CHAIN == 1
#define CHAINED (suc[0] != NONE)
#define WAITS (suc[0] != NONE && mc[suc[0]] == 0)
#elif CHAIN == 2
#define CHAINED (suc[0] != NONE || suc[1] != NONE)
#define WAITS ((suc[0] != NONE && mc[suc[0]] == 0) || (suc[1] != NONE && mc[suc[1]] == 0))
#else
#define CHAINED (suc[0] != NONE || suc[1] != NONE || suc[2] != NONE)
#define WAITS ((suc[0] != NONE && mc[suc[0]] == 0) || (suc[1] != NONE && mc[suc[1]] == 0) || (suc[2] != NONE && mc[suc[2]] == 0))
#endif

/* SUCC to the one before k in the chain, if it lives, that k follows; of a dead one, or one that must not be
   handed the lock, only the number is told */
inline succ_to(to, gen, k)
{
	if
	:: to != NONE ->
		z = suc[k];
		if :: z != NONE && !NAMED(z) -> z = NONE :: else fi;
#ifdef EPOCHS
		if :: z != NONE -> z = z + 8*ep[z] :: else fi;
#endif
		TOCLI(to, SUCC, gen, z, sgn[k]); z = 0
	:: else
	fi
}

/* n, the head of the queue, joins the end of the chain */
inline announce(n)
{
	ng++;
	if
	:: sgn[0] == 0 -> suc[0] = n; sgn[0] = ng; succ_to(cur, hg, 0)
#if CHAIN > 1
	:: sgn[0] != 0 && sgn[1] == 0 -> suc[1] = n; sgn[1] = ng; succ_to(suc[0], sgn[0], 1)
#endif
#if CHAIN > 2
	:: sgn[1] != 0 -> suc[2] = n; sgn[2] = ng; succ_to(suc[1], sgn[1], 2)
#endif
	fi
}

/* gens and fast tokens are one increasing sequence: before the home assigns a generation that must
   exceed the tokens of fast holders that are gone, it raises its counter to the token word.
   BUG_TOKF: only where it saw the last fast reader's bit go (F also shrinks by ENQUEUE) */
inline raise_ng()
{
#if defined(TOKENS) && !defined(BUG_TOKEARLY)
	if :: tok > ng -> ng = tok :: else fi;
#endif
	skip
}

#ifdef ASK
#define NOTRY(n) if :: qt == n+1 -> qt = 0; asked = 0 :: else fi
/* the try is the only one that may be in front of others */
#define TRYHEAD (qt != 0 && hq?[eval(qt-1),_])

/* X behind readers: ask them whether they are idle, or to leave, once each */
inline readers()
{
	k = 0;
	if
	:: n == qt-1 && ((SH[0] && (shrv & 1)) || (SH[1] && (shrv & 2)) || (SH[2] && (shrv & 4)) || (F & bits & fr)) -> deny_head()
	:: else ->
		do
		:: k < NC && SH[k] && n == qt-1 && !(asked & BIT(k)) -> asked = asked | BIT(k); TOCLI(k, REVK, SH[k], 2, 0); k++
		:: k < NC && SH[k] && n != qt-1 && !(shrv & BIT(k)) -> shrv = shrv | BIT(k); TOCLI(k, REVK, SH[k], 0, 0); k++
		:: k < NC && !SH[k] && (F & bits & BIT(k)) && n == qt-1 && !(asked & BIT(k)) -> asked = asked | BIT(k); TOCLI(k, REVK, 0, 2, 0); k++
		:: k < NC && !SH[k] && (F & bits & BIT(k)) && n != qt-1 && !(fr & BIT(k)) -> fr = fr | BIT(k); TOCLI(k, REVK, 0, 0, 0); k++
		:: else -> k++
		:: k >= NC -> break
		od;
		stop = 1
	fi
}
#else
#define NOTRY(n) skip
#define TRYHEAD false
#endif

#define MODE(m) (m == S -> S : 0)

/* none waits any more: the readers that were asked to leave may be joined again */
inline stay()
{
#ifndef BUG_STAY
	k = 0;
	do
	:: k < NC && SH[k] && (shrv & BIT(k)) -> shrv = shrv & ~BIT(k); TOCLI(k, REVK, SH[k], 0, S); k++
	:: k < NC && !SH[k] && (fr & F & bits & BIT(k)) -> fr = fr & ~BIT(k); TOCLI(k, REVK, 0, 0, S); k++
	:: k < NC && !(SH[k] && (shrv & BIT(k))) && !(!SH[k] && (fr & F & bits & BIT(k))) -> k++
	:: k >= NC -> break
	od; k = 0
#else
	skip
#endif
}

inline pump()
{
	if
	:: hm == DRAIN && own == 0 -> hm = MAN; fr = 0; raise_ng();
#ifdef ASK
		asked = 0       /* as a reader the owner is asked again */
#endif
	:: else
	fi;
	if
#ifdef BUG_DRAINBITS
	:: hm == MAN && F != 0 -> F = 0; fr = 0
#else
	:: hm == MAN && F != 0 && (bits & F) == 0 -> F = 0; fr = 0
#endif
	:: else
	fi;
	stop = (hm != MAN && hm != DRAIN) || GRACE;
	do
#ifndef HOMEMODE
	:: !stop && cur == NONE && !(SH[0] || SH[1] || SH[2]) && QNONE ->
		stay(); hm = CLRW; F = 0; fr = 0; stop = 1
#else
	:: !stop && cur == NONE && !(SH[0] || SH[1] || SH[2]) && QNONE -> stop = 1
#endif
#ifdef ASK
	:: !stop && cur == NONE && hm == DRAIN && QSOME ->
		hq?<n,m>; k = own - 1;
		if
		:: n == qt-1 && (fr & BIT(k)) -> deny_head()
		:: n == qt-1 && !(fr & BIT(k)) ->
			if :: !(asked & BIT(k)) && !dead[k] -> asked = asked | BIT(k); TOCLI(k, REVK, 0, 2, MODE(m)) :: else fi;
			stop = 1
		:: n != qt-1 ->
			if :: !(fr & BIT(k)) && !dead[k] -> fr = fr | BIT(k); TOCLI(k, REVK, 0, 0, MODE(m)) :: else fi;
			stop = 1
		fi
	:: !stop && cur != NONE && sgn[0] == 0 && TRYHEAD ->
		if
		:: crv -> deny_head()
		:: !crv ->
			hq?<n,m>;
			if :: !(asked & BIT(cur)) -> asked = asked | BIT(cur); TOCLI(cur, REVK, hg, 2, MODE(m)) :: else fi;
			stop = 1
		fi
	:: !stop && cur != NONE && !(sgn[0] == 0 && TRYHEAD) ->
#else
	:: !stop && cur == NONE && hm == DRAIN && QSOME ->
		hq?<n,m>; k = own - 1;
		if :: !(fr & BIT(k)) && !dead[k] -> fr = fr | BIT(k); TOCLI(k, REVK, 0, 0, MODE(m)) :: else fi;
		stop = 1
	:: !stop && cur != NONE ->
#endif
		if
		:: sgn[CHAIN-1] == 0 && QSOME && !TRYHEAD ->
			hq?<n,m>;
			if
			:: m == X -> hq?n,m; announce(n)
			:: m == S && sgn[0] == 0 && !crv -> crv = 1; TOCLI(cur, REVK, hg, 0, S); stop = 1
			:: else -> stop = 1     /* a shared request ends the chain */
			fi
		:: else -> stop = 1
		fi
	:: !stop && cur == NONE && hm == MAN && QNONE && (SH[0] || SH[1] || SH[2]) -> stay(); stop = 1
	:: !stop && cur == NONE && hm == MAN && QSOME ->
		hq?<n,m>;
		if
		:: m == S -> hq?n,m; ng++; SH[n] = ng; TOCLI(n, GRANT, ng, 0, 0); NOTRY(n);
#ifdef BUG_B1
			assert(!(bits & BIT(n))); bits = bits | BIT(n);
#endif
		:: m == X && !(SH[0] || SH[1] || SH[2]) && F == 0 ->
			
#ifndef BUG_TOKF
			raise_ng();
#endif
			hq?n,m; ng++; cur = n; hg = ng; via = NONE; crv = 0; NOTRY(n); grant(n)
		:: else ->      /* X behind readers: call them back, once each */
#ifdef ASK
			readers()
#else
			k = 0;
			do
			:: k < NC && SH[k] && !(shrv & BIT(k)) -> shrv = shrv | BIT(k); TOCLI(k, REVK, SH[k], 0, 0); k++
			:: k < NC && !(SH[k] && !(shrv & BIT(k))) && (F & bits & BIT(k)) && !(fr & BIT(k)) -> fr = fr | BIT(k); TOCLI(k, REVK, 0, 0, 0); k++
			:: k < NC && !(SH[k] && !(shrv & BIT(k))) && !((F & bits & BIT(k)) && !(fr & BIT(k))) -> k++
			:: k >= NC -> break
			od;
			stop = 1
#endif
		fi
	:: stop -> break
	od;
	n = 0; m = 0; k = 0; stop = 0;
	assert(!cdn || CHAINED)         /* a reader in the way of readers */
}

/*
 * Rule G: a message of i that has the pass of a member of the chain proves that all tenures before that one
 * have ended. A pass comes from the home alone: with GRANT and UPGRADED, and with SUCC under the one of the
 * tenure that SUCC is for.
 */
#ifdef BUG_TICKET       /* the generation is enough */
#define FORGED(i, gen, p) false
#else
#define FORGED(i, gen, p) (!(p) && ANN(i) && ANNGEN(i) == gen)
#endif
inline imply(i, gen)
{
#ifndef BUG_B31
	if
	:: suc[0] == i && sgn[0] == gen -> shift()
#ifndef BUG_CHAINNEXT   /* only that of the first member */
#if CHAIN > 1
	:: suc[1] == i && sgn[1] == gen -> shift(); shift()
#endif
#if CHAIN > 2
	:: suc[2] == i && sgn[2] == gen -> shift(); shift(); shift()
#endif
#endif
	:: else
	fi
#else
	skip
#endif
}

inline do_done(i, gen)
{
#ifndef BUG_CHAINDONE
	imply(i, gen);
#endif
	if
	:: cur != NONE && hg == gen && BAD(i) && (cur != i || sgn[0] == 0) -> skip
	:: cur != NONE && hg == gen && !(BAD(i) && (cur != i || sgn[0] == 0)) ->
		assert(cur == i && sgn[0] != 0); handed(i)
	:: else
	fi
}

inline do_rel(i, gen)
{
	imply(i, gen);
	if
	:: BAD(i) && !(SH[i] != 0 && SH[i] == gen) && cur != i && hg == gen -> skip
	:: SH[i] != 0 && SH[i] == gen -> SH[i] = 0; shrv = shrv & ~BIT(i)
#ifdef BUG_B31
	:: !(SH[i] != 0 && SH[i] == gen) && cur == i -> end_tenure()
#else
	:: !(SH[i] != 0 && SH[i] == gen) && cur != NONE && hg == gen && !(BAD(i) && cur != i) -> assert(cur == i); end_tenure()
#endif
	:: else
	fi
}

#ifdef BUG_CHAINDOWN    /* only the first member goes back to the queue */
#define ALSO(k) false
#else
#define ALSO(k) (suc[k] != NONE)
#endif

/* LEFTTOLD: it is not asked whether it agrees */
inline tell(k)
{
	if
	:: suc[k] != NONE && mc[suc[k]] == 1 ->
		mc[suc[k]] = 2; TOCLI(suc[k], CAND, sgn[k], 0, 0);
#ifdef BUG_LEFTTOLD
		mc[suc[k]] = 0; suc[k] = NONE
#endif
	:: else
	fi
}

/*
 * cur is shared. While one that was announced waits nothing changes: cur may have handed over what it could
 * before. Those that gave up are told so, and say that they will not take it; when none lives cur is one of
 * the readers.
 */
inline settle()
{
	if
	:: cdn && !WAITS ->
		tell(0);
#if CHAIN > 1
		tell(1);
#endif
#if CHAIN > 2
		tell(2);
#endif
		if
		:: !CHAINED ->
#ifdef BUG_DOWNSTAY
			SH[cur] = hg; shrv = shrv & ~BIT(cur);
#else
			SH[cur] = hg; shrv = (sgn[0] != 0 -> shrv | BIT(cur) : shrv & ~BIT(cur));     /* by SUCC */
#endif
#ifdef ASK
			asked = asked & ~BIT(cur);
#endif
			NOCHAIN; curclear()
		:: else
		fi
	:: else
	fi
}

/* i, which was told, says that it has not had what was announced, and will not take it */
#define LEAVES_CHAIN(i, gen) (mt == REL && c == 1 && mc[i] == 2 && ANN(i) && ANNGEN(i) == gen)
inline do_left(i)
{
	mc[i] = 0;
	if
	:: suc[0] == i -> suc[0] = NONE
#if CHAIN > 1
	:: suc[1] == i -> suc[1] = NONE
#endif
#if CHAIN > 2
	:: suc[2] == i -> suc[2] = NONE
#endif
	fi;
	settle()
}

/* DOWNBURN: those that live go back to the head of the queue, in order, and their generations are void */
inline do_down(i, gen)
{
#ifndef BUG_DOWNEARLY
	imply(i, gen);
#endif
	if
#if defined(BUG_DOWNBURN) || defined(BUG_CHAINDOWN)
	:: cur == i && hg == gen ->
		k = len(hq);
		if :: suc[0] != NONE -> hq!suc[0],X :: else fi;
#if CHAIN > 1
		if :: ALSO(1) -> hq!suc[1],X :: else fi;
		suc[1] = NONE; sgn[1] = 0;
#endif
#if CHAIN > 2
		if :: ALSO(2) -> hq!suc[2],X :: else fi;
		suc[2] = NONE; sgn[2] = 0;
#endif
		suc[0] = NONE; sgn[0] = 0;
		do :: k > 0 -> hq?n,m; hq!n,m; k-- :: k == 0 -> break od;
		n = 0; m = 0;
		shift();
		SH[i] = gen; shrv = shrv & ~BIT(i)
#else
	:: cur == i && hg == gen -> cdn = 1; settle()
#endif
#ifdef BUG_DOWNEARLY
	:: else
#else
	:: else -> assert(BAD(i))       /* it says of itself what the home does not know */
#endif
	fi
}

inline do_enq(i, mode, try)
{
#ifndef BUG_B16
	assert(cur != i && !ANN(i) && SH[i] == 0 && !QHAS(i));
#endif
	F = F & ~BIT(i);
#ifdef ASK
	if
	:: try && (QSOME || sgn[0] != 0 || GRACE) -> TOCLI(i, DENY, 0, 0, 0)
	:: else -> hq!i,mode;
		if :: try -> qt = i+1; asked = 0 :: else fi;
		if :: hm == FASTM -> hm = SETW :: else fi
	fi
#else
	if
	:: hm == FASTM && try -> TOCLI(i, DENY, 0, 0, 0)
	:: hm == FASTM && !try -> hq!i,mode; hm = SETW;
#ifdef BUG_B3
		rb = bits; ro = own
#endif
	:: hm != FASTM && try ->
		if
		:: !GRACE && hm == MAN && QNONE && cur == NONE && (mode == S || !(SH[0]||SH[1]||SH[2]||F)) -> hq!i,mode
		:: !(!GRACE && hm == MAN && QNONE && cur == NONE && (mode == S || !(SH[0]||SH[1]||SH[2]||F))) -> TOCLI(i, DENY, 0, 0, 0)
		fi
	:: hm != FASTM && !try ->
#ifdef BUG_B5
		assert(!W); W = 1;
#endif
		hq!i,mode
	fi
#endif
}

#ifdef ASK
/* the try at the head has ended, without the lock */
inline deny_head()
{
	hq?n,m; TOCLI(n, DENY, 0, 0, 0); qt = 0; asked = 0
}

inline do_busy(i, gen)
{
	if
	:: qt != 0 && QSOME && hq??[eval(qt-1),_] && (gen == 0 ->
		((hm == DRAIN && own == i+1) || (F & bits & BIT(i))) :
		(SH[i] == gen || (cur == i && hg == gen))) ->
		hq?<n,m>;
		if :: n == qt-1 -> deny_head() :: else fi;
		n = 0; m = 0
	:: else
	fi
}
#endif

inline do_cancel(i)
{
	if
	:: QHAS(i) -> hq??eval(i),m; m = 0; TOCLI(i, CAND, 0, 0, 0)
#ifndef BUG_CANCDOWN
	:: !QHAS(i) && ANN(i) ->
		if :: mc[i] == 0 -> mc[i] = 1 :: else fi;
		settle()
#endif
	:: else
	fi
}

inline do_upg(i, gen)
{
	if
	:: gen != 0 && SH[i] == gen && cur == NONE && QNONE && F == 0 && (i==0 || !SH[0]) && (i==1 || !SH[1]) && (i==2 || !SH[2]) ->
		SH[i] = 0; shrv = shrv & ~BIT(i); raise_ng(); ng++; cur = i; hg = ng; via = NONE; crv = 0; TOCLI(i, UPGD, ng, 0, 0)
	:: !(gen != 0 && SH[i] == gen && cur == NONE && QNONE && F == 0 && (i==0 || !SH[0]) && (i==1 || !SH[1]) && (i==2 || !SH[2])) -> TOCLI(i, DENY, 0, 0, 0)
	fi
}

/* what is on record for i decides what it can hold; without a record, any tenure that was given and has ended */
#if CHAIN == 1
#define OFCHAIN(gen) (gen == sgn[0])
#elif CHAIN == 2
#define OFCHAIN(gen) (gen == sgn[0] || gen == sgn[1])
#else
#define OFCHAIN(gen) (gen == sgn[0] || gen == sgn[1] || gen == sgn[2])
#endif
#define MAYHOLD(i) \
	(cur == i -> (b == hg || ((a & 32) && hg > c)) : \
	(ANN(i) -> b == ANNGEN(i) : \
	(SH[i] != 0 -> b == SH[i] : \
	(b <= ng && b != hg && !OFCHAIN(b) && !QHAS(i)))))

inline hrecv(i)
{
	if
	:: mt == ENQ && BAD(i) && (cur == i || ANN(i) || SH[i] != 0 || QHAS(i)) -> skip
	:: mt == ENQ && !(BAD(i) && (cur == i || ANN(i) || SH[i] != 0 || QHAS(i))) -> do_enq(i, a, b)
	:: LEAVES_CHAIN(i, a) -> do_left(i)
	:: (mt == REL || mt == DONE || mt == DOWN || mt == UPG) && !LEAVES_CHAIN(i, a) && FORGED(i, a, b) -> assert(BAD(i))
	:: mt == RSY && BAD(i) && b != 0 && (!MAYHOLD(i) || FORGED(i, b, !(a & 64))) -> skip
	:: mt == RSY && BAD(i) && QHAS(i) && !hq??[eval(i),eval(a & 3)] -> skip
	:: mt == CAN -> do_cancel(i)
	:: mt == REL && !LEAVES_CHAIN(i, a) && !FORGED(i, a, b) -> do_rel(i, a)
	:: mt == DONE && !FORGED(i, a, b) -> do_done(i, a)
	:: mt == REL0 -> skip
#ifdef ASK
	:: mt == BUSY -> do_busy(i, a)
#endif
	:: mt == DOWN && !FORGED(i, a, b) -> do_down(i, a)
	:: mt == UPG && !FORGED(i, a, b) -> imply(i, a); do_upg(i, a)
	:: mt == LOST ->
		if
		:: cur != NONE && hg == a -> grant(cur)
		:: else
		fi
	:: mt == RSY && !(BAD(i) && b != 0 && (!MAYHOLD(i) || FORGED(i, b, !(a & 64)))) &&
	   !(BAD(i) && QHAS(i) && !hq??[eval(i),eval(a & 3)]) ->
#ifdef BREAK
		hup[i] = 1;
#endif
		fr = fr & ~BIT(i);
#ifdef ASK
		asked = asked & ~BIT(i);
#endif
		/* it cannot hold what the home has not given it, but what was ended by rule G it may still list */
#ifndef BUG_ENDED
		assert(b == 0 || MAYHOLD(i));
#else
		assert(b == 0 || cur == i || ANN(i) || SH[i] != 0);
#endif
		assert(!QHAS(i) || hq??[eval(i),eval(a & 3)]);
		assert(!FORGED(i, b, !(a & 64)));
		/* settle the tenures the home has on record for i */
		imply(i, b);
		if
#ifdef BUG_PASSRSY      /* it is believed to have had what was announced to it */
		:: ANN(i) && ANNGEN(i) <= c -> z2 = ANNGEN(i); imply(i, z2); z2 = 0
#else
		/* it says that it has had it: its place is as that of a dead one */
		:: suc[0] == i && sgn[0] <= c -> suc[0] = NONE
#if CHAIN > 1
		:: suc[1] == i && sgn[1] <= c -> suc[1] = NONE
#endif
#if CHAIN > 2
		:: suc[2] == i && sgn[2] <= c -> suc[2] = NONE
#endif
#endif
#ifndef BUG_CHAINRSY
#if CHAIN > 1
		/* it waits: what was announced to it may have been lost */
		:: suc[0] == i && sgn[0] > c && sgn[1] != 0 -> succ_to(i, sgn[0], 1)
#endif
#if CHAIN > 2
		:: suc[1] == i && sgn[1] > c && sgn[2] != 0 -> succ_to(i, sgn[1], 2)
#endif
#endif
		:: else
		fi;
		if :: ANN(i) -> mc[i] = ((a & 4) != 0) :: else fi;
		settle();
		if
		:: cur == i && b == hg && (a & 16) -> do_down(i, b);
			if
			:: cur == i ->
				if :: a & 32 -> TOCLI(i, DENY, 0, 0, 0) :: else fi;
				crv = 0; if :: sgn[0] != 0 -> succ_to(i, hg, 0) :: else fi
			:: else
			fi
		:: cur == i && !(b == hg && (a & 16)) && (b == hg || hg > c) ->
			if
			:: b != hg && !(a & 32) -> grant(i)
			:: b != hg && (a & 32) -> TOCLI(i, UPGD, hg, 0, 0)
			:: else
			fi;
			crv = 0;        /* pump calls it back again */
			if :: sgn[0] != 0 -> succ_to(i, hg, 0) :: else fi
		:: cur == i && b != hg && hg <= c -> end_tenure()
		:: else
		fi;
		if
		:: SH[i] != 0 && b == SH[i] -> shrv = shrv & ~BIT(i); if :: a & 32 -> do_upg(i, b) :: else fi
		:: SH[i] != 0 && b != SH[i] && SH[i] > c -> shrv = shrv & ~BIT(i); TOCLI(i, GRANT, SH[i], 0, 0)
		:: SH[i] != 0 && b != SH[i] && SH[i] <= c -> SH[i] = 0; shrv = shrv & ~BIT(i)
		:: else
		fi;
		/* then what it waits for, now that old tenures are settled */
		if
		:: cur != i && !ANN(i) && SH[i] == 0 && QHAS(i) ->
			if :: a & 4 -> do_cancel(i) :: else fi
		:: cur != i && !ANN(i) && SH[i] == 0 && !QHAS(i) ->
			if
			:: (a & 3) && (a & 4) -> TOCLI(i, CAND, 0, 0, 0)
			:: (a & 3) && !(a & 4) -> z = a & 3; do_enq(i, z, ((a & 8) != 0)); z = 0
			:: else
			fi
		:: else
		fi;
#ifndef BUG_VIARSY
		/* a LOST of i may have been lost with the link */
		if :: cur != NONE && via == i -> grant(cur) :: else fi;
#endif
		skip
	fi;
	pump()
}

/* what i had is free, and all sends to it are over: its fields may be gone */
inline ended(i)
{
#ifdef ASK
	NOTRY(i); asked = asked & ~BIT(i);
#endif
	fr = fr & ~BIT(i); mc[i] = 0;
	if :: QHAS(i) -> hq??eval(i),m; m = 0 :: !QHAS(i) fi;
	if :: own == i+1 -> own = 0 :: else fi;
	bits = bits & ~BIT(i); F = F & ~BIT(i);
	SH[i] = 0; shrv = shrv & ~BIT(i);
	/* its place in the chain stays: the end of the tenure before it settles it */
	if
#ifdef BUG_CHAINGAP     /* the chain closes up */
	:: suc[0] == i -> suc[0] = suc[1]; sgn[0] = sgn[1]; suc[1] = NONE; sgn[1] = 0
	:: suc[1] == i -> suc[1] = NONE; sgn[1] = 0
#else
	:: suc[0] == i -> suc[0] = NONE
#if CHAIN > 1
	:: suc[1] == i -> suc[1] = NONE
#endif
#if CHAIN > 2
	:: suc[2] == i -> suc[2] = NONE
#endif
#endif
	:: else
	fi;
#ifndef BUG_VIA
	if
	:: cur != NONE && via == i -> via = NONE; grant(cur)
	:: else
	fi;
#endif
	if :: cur == i -> end_tenure() :: else fi;
	settle();
	pump()
}

inline reclaim(i)
{
	dead[i] = 1;
#ifdef RIGHTS
	wd[i] = 0;
#endif
	ended(i)
}

#ifdef RIGHTS
/* rights are withdrawn; then i says that it has forgotten what it had, and has the lock open again */
inline withdraw(i)
{
	rw--; wd[i] = 1;
#ifdef BUG_RIGHTSEND     /* what it has is taken at once */
	ended(i)
#endif
}

inline forgotten(i)
{
	do :: nempty(c2h[i]) -> c2h[i]?mt,a,b,c :: empty(c2h[i]) -> break od;
#ifdef BREAK
	hup[i] = 1;
#endif
	ended(i);
	wd[i] = 3; left[i] = 1
}
#define HEARS(i) if :: UNHEARD(i) :: else -> hrecv(i) fi
#else
#define HEARS(i) hrecv(i)
#endif

proctype Home()
{
end:	do
	:: d_step { c2h[0]?mt,a,b,c -> HEARS(0) }
	:: d_step { c2h[1]?mt,a,b,c -> HEARS(1) }
	:: d_step { c2h[2]?mt,a,b,c -> HEARS(2) }
#ifdef RIGHTS
	:: d_step { rw > 0 && wd[0] == 0 && !dead[0] -> withdraw(0) }
	:: d_step { rw > 0 && wd[1] == 0 && !dead[1] -> withdraw(1) }
	:: d_step { rw > 0 && wd[2] == 0 && !dead[2] -> withdraw(2) }
	:: d_step { wd[0] == 2 && up[0] -> forgotten(0) }
	:: d_step { wd[1] == 2 && up[1] -> forgotten(1) }
	:: d_step { wd[2] == 2 && up[2] -> forgotten(2) }
#endif
	:: d_step { hm == SETW ->       /* loopback FAA(+W) executes */
		assert(!W); W = 1; hm = SETW2;
#ifndef BUG_B3
		rb = bits; ro = own;
#endif
#ifdef BUG_TOKEARLY
		if :: tok > ng -> ng = tok :: else fi
#endif
		}
	:: d_step { hm == SETW2 ->      /* its completion */
		F = rb; fr = 0;
#ifdef ASK
		asked = 0;
#endif
#ifndef BUG_DOWNF
		if :: ro != 0 -> F = F | BIT(ro-1) :: else fi;
#endif
		k = 0;
		do
		:: k < NC && (QHAS(k) || dead[k]) -> F = F & ~BIT(k); k++
		:: k < NC && !(QHAS(k) || dead[k]) ->
			if
			:: FORCE && (F & BIT(k)) -> TOCLI(k, REVK, 0, FORCE, 0)
			:: else
			fi; k++
		:: k >= NC -> break
		od; k = 0;
#ifdef ADMIN
		fb = 0;
#endif
		hm = DRAIN;
#ifdef BUG_B3
		if :: rb == 0 && ro == 0 -> pump() :: else fi;
#else
		pump();
#endif
		rb = 0; ro = 0 }
	:: d_step { hm == CLRW ->       /* loopback FAA(token,+k), FAA(-W) execute */
		assert(W);
#ifdef TOKENS
#ifndef BUG_TOKEXIT
		if :: tok < ng -> tok = ng :: else fi;
#endif
#endif
		W = 0; hm = CLRW2 }
	:: d_step { hm == CLRW2 ->
		hm = FASTM;
		if :: QSOME -> hm = SETW;
#ifdef BUG_B3
			rb = bits; ro = own
#endif
		:: QNONE fi }
#ifdef ADMIN
	:: d_step { adm > 0 && hm == FASTM -> adm--; fb = 1; ng++; hm = SETW }
	/* it cannot answer for a tenure whose HANDOVER has not come */
	:: d_step { adm > 0 && hm == MAN && cur != NONE -> adm--; ng++;
		if :: via != NONE -> grant(cur) :: else fi;
		TOCLI(cur, REVK, hg, 1, 0) }
	:: d_step { adm > 0 && hm == MAN && (SH[0] || SH[1] || SH[2]) -> adm--; ng++;
		k = 0;
		do
		:: k < NC && SH[k] -> TOCLI(k, REVK, SH[k], 1, 0); k++
		:: k < NC && !SH[k] -> k++
		:: k >= NC -> break
		od; k = 0 }
#endif
#ifdef LOOPBRK
	/* its QP is destroyed, W is read: what was not done is posted again, and
	   for what was, the word of now says what the lost result did */
#ifdef BUG_B33
	:: d_step { lb > 0 && hm == SETW2 -> lb--; hm = SETW }
	:: d_step { lb > 0 && hm == CLRW2 -> lb--; hm = CLRW }
#else
	:: d_step { lb > 0 && hm == SETW2 -> lb--;
#ifdef BUG_B33F
		rb = 0; ro = 0
#else
		rb = bits; ro = own
#endif
		}
	:: d_step { lb > 0 && hm == CLRW2 -> lb-- }
#ifdef TOKENS
	:: d_step { lb > 0 && hm == CLRW -> lb--; if :: tok < ng -> tok = ng :: else fi }
#endif
#endif
#endif
#ifdef RESTART
	/* all sessions are new ones; the word is born with W */
	:: d_step { rst ->
		rst = 0; own = 0; bits = 0; W = 1; hm = MAN; F = 0; fr = 0; rb = 0; ro = 0;
		mc[0] = 0; mc[1] = 0; mc[2] = 0;
		curclear(); NOCHAIN; SH[0] = 0; SH[1] = 0; SH[2] = 0; shrv = 0;
#ifdef TOKENS
#ifdef BUG_EPOCH
		tok = 0;
#else
		tok = EPOCH;
#endif
#endif
#ifdef BUG_EPOCH
		ng = 0;
#else
		ng = EPOCH;
#endif
#ifndef BUG_GRACE
		grace = 1;
#endif
		do :: QSOME -> hq?n,m :: QNONE -> break od; n = 0; m = 0;
		k = 0;
		do
		:: k < NC ->
			old[k] = 1; up[k] = 0;
			do :: nempty(c2h[k]) -> c2h[k]?mt,a,b,c :: empty(c2h[k]) -> break od;
			do :: nempty(h2c[k]) -> h2c[k]?mt,a,b,c :: empty(h2c[k]) -> break od;
			k++
		:: k >= NC -> break
		od; k = 0 }
	:: d_step { grace && !old[0] && !old[1] && !old[2] -> grace = 0; pump() }
#endif
#ifdef CRASH
#ifdef BUG_SWEEP
#define GONE(i) (!up[i] && !dead[i])
#else
#define GONE(i) (!up[i] && !val[i] && !dead[i])
#endif
	:: d_step { GONE(0) -> reclaim(0) }
	:: d_step { GONE(1) -> reclaim(1) }
	:: d_step { GONE(2) -> reclaim(2) }
#endif
	od
}

#ifdef EVIL
byte say = EVIL;
byte knows;             /* passes, by generation */
byte under[GENS];       /* of this one the pass is known under that of another */
byte follows[GENS];     /* and the home gave its word for this client, plus 1 */

#define KNOWS(gen) ((knows >> (gen)) & 1)

/* 2 hears of a generation; what was under its pass is known as well */
inline deduce()
{
	k = 1;
	do
	:: k < GENS -> if :: under[k] != 0 && KNOWS(under[k]) -> knows = knows | BIT(k) :: else fi; k++
	:: k >= GENS -> break
	od; k = 0
}

inline hears()
{
	if
	:: (mt == GRANT || mt == UPGD) && a < GENS -> knows = knows | BIT(a)
	:: mt == SUCC && b != NONE && c < GENS -> under[c] = a; follows[c] = (b & 7) + 1;
#ifdef BUG_PASSBARE     /* SUCC tells the pass of the next as it is */
		knows = knows | BIT(c)
#endif
	:: else
	fi;
	deduce()
}

#ifdef BUG_PROOF        /* whoever hands over is believed */
#define MAYHAND(i, gen) true
#else
#define MAYHAND(i, gen) (KNOWS(gen) && follows[gen] == i+1)
#endif
#define SAYS(ty, x, y, w) say > 0 && up[2] && nfull(c2h[2]) -> say--; c2h[2]!ty,x,y,w
#define OF(gen) \
	:: d_step { gen <= ng + 1 && SAYS(REL, gen, KNOWS(gen), 0) } \
	:: d_step { gen <= ng + 1 && SAYS(REL, gen, 0, 1) } \
	:: d_step { gen <= ng + 1 && SAYS(DONE, gen, KNOWS(gen), 0) } \
	:: d_step { gen <= ng + 1 && SAYS(DOWN, gen, KNOWS(gen), 0) } \
	:: d_step { gen <= ng + 1 && SAYS(UPG, gen, KNOWS(gen), 0) } \
	:: d_step { gen <= ng + 1 && SAYS(LOST, gen, 0, 0) } \
	:: d_step { gen <= ng + 1 && say > 0 && nfull(cc[0]) && MAYHAND(0, gen) -> say--; cc[0]!2,gen } \
	:: d_step { gen <= ng + 1 && say > 0 && nfull(cc[1]) && MAYHAND(1, gen) -> say--; cc[1]!2,gen }
#ifdef BREAK
#define RESUMES(x, y, w) d_step { !up[2] && val[2] -> up[2] = 1; c2h[2]!RSY,x,y,w }
#define LISTS(gen) \
	:: d_step { gen <= ng && !up[2] && val[2] -> up[2] = 1; c2h[2]!RSY,(KNOWS(gen) -> 0 : 64),gen,gen } \
	:: d_step { gen <= ng && !up[2] && val[2] -> up[2] = 1; c2h[2]!RSY,(KNOWS(gen) -> 16 : 80),gen,gen }
#endif

proctype Evil()
{
end:	do
	:: d_step { h2c[2]?mt,a,b,c -> hears() }
	:: d_step { CCHAS(2,0) -> CCGET(2,0); if :: z < GENS -> knows = knows | BIT(z) :: else fi; z = 0; deduce() }
	:: d_step { CCHAS(2,1) -> CCGET(2,1); if :: z < GENS -> knows = knows | BIT(z) :: else fi; z = 0; deduce() }
	:: d_step { SAYS(ENQ, X, 0, 0) }
	:: d_step { SAYS(ENQ, S, 0, 0) }
	:: d_step { SAYS(CAN, 0, 0, 0) }
	:: d_step { SAYS(REL0, 0, 0, 0) }
	OF(1) OF(2) OF(3) OF(4) OF(5)
#ifdef RIGHTS
	:: d_step { wd[2] == 1 -> wd[2] = 2 }
#endif
#ifdef BREAK
	:: d_step { flt > 0 && up[2] ->
		flt--; up[2] = 0;
		do :: nempty(c2h[2]) -> c2h[2]?mt,a,b,c :: empty(c2h[2]) -> break od;
		do :: nempty(h2c[2]) -> h2c[2]?mt,a,b,c :: empty(h2c[2]) -> break od;
		hup[2] = 0 }
	:: RESUMES(0, 0, 255)
	:: RESUMES(0, 0, 0)
	:: RESUMES(X, 0, 255)
	:: RESUMES(X + 4, 0, 0)
	LISTS(1) LISTS(2) LISTS(3) LISTS(4)
#endif
	od
}
#endif

/* quiescence: none waits, bookkeeping equals reality */
#define FX(i) (val[i] && st[i]==CACHED && fast[i] && md[i]==X)
#define FS(i) (val[i] && st[i]==CACHED && fast[i] && md[i]==S)
#define MX(i) (val[i] && st[i]==CACHED && !fast[i] && md[i]==X)
#define MS(i) (val[i] && st[i]==CACHED && !fast[i] && md[i]==S)
#define FINE(i) (!val[i] || (left[i]==0 && claim[i]==0 && (st[i]==IDLE || st[i]==CACHED)))
#define WORDOK(i) ((own==i+1) == FX(i) && ((bits & BIT(i)) != 0) == FS(i))
#define BOOKOK(i) ((cur==i) == MX(i) && (cur!=i || g[i]==hg) && (SH[i]!=0) == MS(i) && (SH[i]==0 || SH[i]==g[i]))

proctype Mon()
{
	timeout;
	assert(FINE(0)); assert(FINE(1)); assert(FINE(2));
	assert(WORDOK(0) && WORDOK(1) && WORDOK(2));
	assert(BOOKOK(0) && BOOKOK(1) && BOOKOK(2));
	assert(QNONE && sgn[0]==0 && suc[0]==NONE);
	assert(hm==FASTM || hm==MAN);
#ifndef HOMEMODE
	assert((hm==MAN) == W);
	assert(hm==FASTM || cur!=NONE || SH[0] || SH[1] || SH[2])
#endif
}

init {
	atomic {
		left[0] = L0; left[1] = L1; left[2] = L2;
		run Client(0, M0); run Client(1, M1);
#ifdef EVIL
		run Evil(); run Home()
#else
		run Client(2, M2); run Home(); run Mon()
#endif
	}
}
