#!/usr/bin/env python3
"""Scenarios of the model, and changes of it that must be found: python3 scenarios.py [part of a name] [seconds each]"""
import sys, time
from model import Model
def pay(key, obj, amt, ev, merchant=0, w=0, f=1, blind=False):
    def fn(v):
        if not blind:
            a = v.get(key)
            if a is not None: return ('refused', 'replay', a)
        if v.get(merchant) == 'closed': return ('refused', 'closed')
        if not v.post([(w, -amt), (f, amt)], guarded=(w,)): return ('refused', 'short')
        v.blind(obj, 'o')
        (v.blind if blind else v.put)(key, 'ans')
        if ev: v.event(ev)
        return ('ok',)
    return fn
def setrow(k, val):
    def fn(v): v.put(k, val); return ('set',)
    return fn
def skew(mine, other, ev=None):
    def fn(v):
        if v.get(mine) == 'on' and v.get(other) == 'on':
            v.put(mine, 'off')
            if ev: v.event(ev)
            return ('off',)
        return ('refused', 'alone')
    return fn
def incr(k):
    def fn(v): x = v.get(k); v.put(k, x + 1); return ('is', x + 1)
    return fn
def ifabsent(look, make):
    def fn(v):
        if v.get(look) is None: v.put(make, 'x'); return ('made',)
        return ('refused', 'there')
    return fn
def readboth(a, b):
    def fn(v): return ('refused', v.get(a), v.get(b))
    return fn
def append(k, x):
    def fn(v): y = v.get(k); v.put(k, y + x); return ('is', y + x)
    return fn
def delete(k):
    def fn(v): v.delete(k); return ('gone',)
    return fn
def copyrow(a, b):
    def fn(v): x = v.get(a); v.put(b, ('copy', x)); return ('copied', x)
    return fn
def sweep(a, b, guarded=()):   # reads a balance and moves all of it
    def fn(v):
        x = v.balance(a)
        if x <= 0: return ('refused', 'empty')
        if not v.post([(a, -x), (b, x)], guarded=guarded): return ('refused', 'short')
        return ('moved', x)
    return fn
def spend(a, b, amt, guarded=(), ev=None):
    def fn(v):
        if not v.post([(a, -amt), (b, amt)], guarded=guarded): return ('refused', 'short')
        if ev: v.event(ev)
        return ('ok',)
    return fn
def ev(i):
    def fn(v): v.event(i); return ('ev',)
    return fn
def newobj(k, i):
    def fn(v): v.blind(k, 'o'); v.event(i); return ('made',)
    return fn
def GetOrNewPre(k):
    def fn(v):
        if v.get(k) is None: v.insert(k, 'o'); return ('made',)
        return ('refused', 'there')
    return fn
m1 = (1, 'open')
FIX = dict(tok='first', tomb='own', tombkind=True, pre_in_reads=False, vmode='value', schema_assert=True)
# name -> (kwargs); 'expect' says whether a counterexample must be found
SC = {}
def sc(name, expect, **kw): SC[name] = (expect, kw)
W = dict(rows=(m1, (1, 'on'), None, None, None, None), acc=((10, 1), (0, 1)), guarded=(0,), keys=(2,))
def wl(**kw): d = dict(W); d.update(kw); return d
L = dict(tok='under', tomb='own', tombkind=True, tomblock=True, pre_in_reads=False, vmode='log', num='both', schema_assert=True)
PAY2 = dict(fns=[pay(2, 3, 6, 'e0'), pay(2, 4, 6, 'e1'), setrow(0, 'closed')], where=[0, 1, 1])
sc('payments, retry by another process, closing', False, **wl(**PAY2, lose=1, losetomb=1, pagers=1, **L))
sc('retry after a crash of the first process', False, **wl(fns=[pay(2, 3, 6, 'e0'), pay(2, 4, 6, 'e1')], where=[0, 1], retry={1: 0}, crash=1, lose=1, losetomb=1, pagers=1, **L))
sc('write skew', False, **wl(rows=((1, 'on'), (1, 'on'), None), fns=[skew(0, 1, 'a'), skew(1, 0, 'b'), setrow(1, 'on')], where=[0, 1, 0], slots=1, batch=2, **L))
sc('write skew, two in flight', False, **wl(rows=((1, 'on'), (1, 'on'), None), fns=[skew(0, 1, 'a'), skew(1, 0, 'b'), setrow(1, 'on')], where=[0, 1, 0], slots=2, batch=2, **L))
sc('lost update, a lost answer', False, **wl(rows=((1, 0),), acc=(), guarded=(), fns=[incr(0), incr(0), incr(0)], where=[0, 0, 1], slots=1, batch=2, lose=1, losetomb=1, **L))
sc('feed after retention', False, **wl(rows=((1, 0), None), acc=(), guarded=(), fns=[incr(0), incr(0), copyrow(0, 1)], where=[0, 1, 1], slots=1, batch=1, retention=1, **L))
sc('cancelled anywhere', False, **wl(fns=[pay(2, 3, 6, 'e0'), pay(2, 4, 4, 'e1'), setrow(0, 'closed')], where=[0, 1, 1], cancel=2, pagers=1, **L))
sc('list calls and pipelines', False, **wl(fns=[pay(2, 3, 6, 'e0'), pay(5, 4, 4, 'e1'), setrow(0, 'closed')], where=[0, 1, 1], lists=(1,), lose=1, losetomb=1, pagers=1, **L))
sc('phantom by absence', False, **wl(rows=(None, None), fns=[ifabsent(0, 1), ifabsent(1, 0), readboth(0, 1)], where=[0, 1, 1], slots=1, lose=1, losetomb=1, **L))
sc('guarded money', False, **wl(rows=(m1,), acc=((10, 1), (0, 1), (5, 1)), guarded=(0, 2), fns=[spend(0, 1, 7, (0, 2)), spend(0, 1, 4, (0, 2)), spend(2, 0, 3, (0, 2))], where=[0, 0, 1], slots=2, batch=2, **L))
sc('guarded money and Balance()', False, **wl(rows=(m1,), acc=((10, 1), (0, 1), (5, 1)), guarded=(0, 2), fns=[spend(0, 1, 4, (0, 2)), spend(2, 0, 3, (0, 2)), sweep(0, 1, (0, 2))], where=[0, 1, 1], slots=1, batch=2, **L))
sc('three processes', False, **wl(nproc=3, fns=[pay(2, 3, 6, 'e0'), pay(2, 4, 6, 'e1'), setrow(0, 'closed')], where=[0, 1, 2], pagers=1, **L))
sc('host transaction', False, **wl(fns=[pay(2, 3, 6, 'e0'), setrow(0, 'closed'), pay(2, 4, 4, 'e1')], where=[0, 1, 1], host=(1,), pagers=1, slots=1, **L))
sc('delete and insert again', False, **wl(rows=((1, 'a'), None), fns=[delete(0), setrow(0, 'b'), copyrow(0, 1)], where=[1, 1, 0], batch=1, cache=[(((1, 'a'), None), None), None], **L))
sc('refusals in one snapshot', False, **wl(rows=((1, 'on'), (1, 'on')), fns=[setrow(0, 'off'), setrow(1, 'off'), readboth(0, 1)], where=[1, 1, 0], batch=1, **dict(L, ro='snap')))
sc('promotion loses a commit', False, **wl(fns=[pay(2, 3, 6, 'e0'), pay(2, 4, 4, 'e1'), setrow(0, 'closed')], where=[0, 1, 1], fail=1, **dict(L, seen_assert=True)))
sc('a pager beside a promotion', False, **wl(rows=(m1,), acc=(), guarded=(), fns=[ev('e1'), ev('e0')], where=[0, 1], batch=1, fail=1, pagers=1, **L))
sc('schema changes at any time', False, **wl(fns=[newobj(3, 'e0'), newobj(4, 'e1')], where=[0, 1], ddl=1, **L))
sc('zombie against the locked session', False, **wl(fns=[pay(2, 3, 6, 'e0'), setrow(0, 'open2'), setrow(0, 'open3')], where=[0, 1, 1], batch=1, lose=1, losetomb=1, **L))
sc('MUT reads not compared', True, **wl(rows=((1, 'on'), (1, 'on')), fns=[skew(0, 1), skew(1, 0)], where=[0, 1], **dict(L, l_reads=False)))
sc('MUT absences not compared', True, **wl(rows=(None, None), fns=[ifabsent(0, 1), ifabsent(1, 0)], where=[0, 1], **dict(L, v_abs=False)))
sc('MUT balances not compared', True, **wl(rows=(m1,), acc=((10, 1), (0, 1)), guarded=(), fns=[sweep(0, 1), sweep(0, 1)], where=[0, 1], **dict(L, v_bal=False)))
sc('MUT refusals not compared', True, **wl(rows=((1, 'on'), (1, 'on')), fns=[setrow(0, 'off'), readboth(0, 1)], where=[1, 0], cache=[(((1, 'on'), (1, 'on')), None), None], **dict(L, v_refused=False)))
if __name__ == '__main__':
    pat = sys.argv[1] if len(sys.argv) > 1 else ''
    lim = float(sys.argv[2]) if len(sys.argv) > 2 else 60
    for name, (expect, kw) in SC.items():
        if pat not in name: continue
        kw = dict(kw)
        m = Model(name, **kw)
        bad = m.run(limit=lim)
        ok = (bad is not None) == expect and not (bad and bad[0] == 'INCOMPLETE' and expect)
        verdict = 'holds' if not bad else bad[0]
        if bad and bad[0] == 'INCOMPLETE': verdict = 'no counterexample in part of the states'
        print('%s | %s | %d states %.1fs | %s' % ('as expected' if ok else 'UNEXPECTED' if not (bad and bad[0]=='INCOMPLETE') else 'PARTIAL', name, m.states, m.secs, verdict))
        if bad and m.trace and ('-v' in sys.argv or not ok):
            for l in m.trace: print('      ', l)
        sys.stdout.flush()
