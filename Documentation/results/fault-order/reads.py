# SPDX-License-Identifier: GPL-2.0-only
# PTE reads of the present scan and of the outward scan, over a model of each
import random
def top(t,i,orders):
    r=0
    for o in sorted(orders,reverse=True):
        f=i>>o<<o
        ok=True
        for p in range(f,f+(1<<o)):
            r+=1
            if t[p]: ok=False; break
        if ok: return o,r
    return 0,r
def out(t,i,orders):
    r=0; s=e=i; best=0
    for o in sorted(orders):
        f=i>>o<<o; l=f+(1<<o)
        for p in list(range(f,s))+list(range(e,l)):
            r+=1
            if t[p]: return best,r
        s,e,best=f,l,o
    return best,r
if __name__=='__main__':
    random.seed(1); worse=diff=n=0; rt=ro=0
    for k in range(2400):
        d=2<<(k%9)
        t=[random.randrange(d)==0 for _ in range(512)]
        for _ in range(300):
            i=random.randrange(512); t0=t[i]; t[i]=False
            orders=[o for o in range(2,9) if random.random()<.6]
            a,x=top(t,i,orders); b,y=out(t,i,orders); t[i]=t0
            n+=1; worse+=y>x; diff+=a!=b; rt+=x; ro+=y
    print('random:',n,'worse',worse,'different',diff,'reads',rt,ro)
    # last page of every 32 KB present, fault each remaining page in turn, orders 2-8
    t=[p%8==7 for p in range(512)]; rt=ro=f=0
    for p in range(512):
        if t[p]: continue
        a,x=top(t,p,range(2,9)); b,y=out(t,p,range(2,9)); assert a==b
        f+=1; rt+=x; ro+=y
        s=p>>a<<a
        for q in range(s,s+(1<<a)): t[q]=True
    print('every 8th present:',f,'faults, reads',rt,ro,'ratio %.2f'%(rt/ro))
