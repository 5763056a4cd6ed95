package watching

import (
	"fmt"
	"time"

	"github.com/ccm-push/ccm-push/playbooks/rollout"
	"github.com/ccm-push/ccm-push/playbooks/watch"
)

// order orders the repairs that the judge allows. next is when it must be called again at the latest; zero means after the next
// news.
func (w *Watching) order() (next time.Time) {
	now := w.Now()
	due, next, told := w.judge.Due(now)
	for _, o := range told {
		p := w.byName[o.Key.Host].play(o.Key.Play)
		w.tell(p, p.entry(o.Key.Ref), o)
	}
	orders := map[*watchedHost]*Order{}
	for _, k := range due {
		h := w.byName[k.Host]
		if h.mending != nil {
			continue // the next call handles it
		}
		if orders[h] == nil {
			orders[h] = &Order{}
		}
		one := orders[h].play(k.Play)
		one.Refs = append(one.Refs, k.Ref)
	}
	for h, o := range orders {
		w.judge.Begun(now, o.keys(h.Name))
		for i := range o.Plays {
			o.Plays[i].Held = w.judge.Held(now, h.Name, o.Plays[i].Play)
		}
		w.orders++
		o.Number = w.orders
		h.mending = o
		h.orders <- *o
	}
	return next
}

// mended handles the end of an order.
func (w *Watching) mended(h *watchedHost, m *Mended) {
	if h.mending == nil || h.mending.Number != m.Order { // the host was lost in between
		return
	}
	failed := map[watch.Key]string{}
	for _, f := range m.Failed {
		k := watch.Key{Host: h.Name, Play: f.Play, Ref: f.Ref}
		if failed[k] = f.Error; f.Unknown {
			w.judge.Unknown(k)
			failed[k] += "; its outcome is unknown, so it is not repaired until you run ccm-push watch release"
		}
	}
	for _, k := range h.mending.keys(h.Name) {
		w.repaired(h, k, failed[k])
	}
	h.mending = nil
	for i := range m.Found {
		w.found(h, &m.Found[i])
	}
}

// found handles a resource that a repair has repaired although no drift of it was known.
func (w *Watching) found(h *watchedHost, f *Found) {
	p := h.play(f.Play)
	if p == nil || p.entry(f.Ref) == nil {
		return
	}
	w.judged(h, p, p.entry(f.Ref), f.Verdict, false)
	key := watch.Key{Host: h.Name, Play: f.Play, Ref: f.Ref}
	w.judge.Begun(w.Now(), []watch.Key{key})
	w.repaired(h, key, "")
}

// repaired handles the end of the repair of a resource. Its result is reported after the next check of the host, if there is one.
func (w *Watching) repaired(h *watchedHost, k watch.Key, failed string) {
	if !w.over {
		w.judge.Ended(k, failed)
		return
	}
	for _, o := range w.judge.Over(w.Now(), k, failed) {
		p := h.play(k.Play)
		w.tell(p, p.entry(k.Ref), o)
	}
}

// answer carries out a command of a person: that resources may be repaired again.
func (w *Watching) answer(request rollout.Request) {
	reply := rollout.Reply{}
	if err := w.release(request.Command); err != nil {
		reply.Error = err.Error()
	}
	request.Answer(reply)
}

// release lets the judge repair resources of a host again that it leaves alone.
func (w *Watching) release(c rollout.Command) error {
	h := w.byName[c.Host]
	switch {
	case c.Verb != rollout.ReleaseHost:
		return fmt.Errorf("hosts are watched: %q is for rollouts", c.Verb)
	case h == nil:
		return fmt.Errorf("no host %q is watched", c.Host)
	}
	released := false
	astray, _ := w.judge.Astray()
	for _, k := range astray {
		if k.Host != c.Host {
			continue
		}
		if e := h.play(k.Play).entry(k.Ref); c.Resource == "" || c.Resource == k.Ref || c.Resource == e.shown() {
			w.judge.Release(k)
			released = true
		}
	}
	switch {
	case released:
		return nil
	case c.Resource != "":
		return fmt.Errorf("%s of %s has its desired state, or is not watched", c.Resource, c.Host)
	}
	return fmt.Errorf("all resources of %s have their desired state", c.Host)
}
