package workers

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/playbooks"
	"github.com/ccm-push/ccm-push/playbooks/catalog"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/playbooks/reach"
	"github.com/ccm-push/ccm-push/transport"
	"github.com/ccm-push/ccm-push/transport/usercert"
)

// A certificate of a worker's key.
type certificate struct {
	text  []byte
	valid time.Duration // from when it was made
	// renew is when there is to be another one, last when the run stops without it, and ends when it is good for nothing.
	renew, last, ends time.Time
}

// maxAddresses is how many addresses a worker may come from.
const maxAddresses = 32

// validAddresses reports whether a worker may name these addresses.
func validAddresses(list []netip.Prefix) bool {
	return len(list) <= maxAddresses && !slices.ContainsFunc(list, func(p netip.Prefix) bool { return !p.IsValid() })
}

// A Certificate limits the certificate of a worker's key.
type Certificate struct {
	SSHKey     []byte         // of the worker, for the run
	Principals []string       // for accounts on hosts of a site, and for accounts of hosts that do not know sites yet
	Sources    []netip.Prefix // from which it can be used; none is everywhere
	Jumps      bool           // its holder goes through jump hosts
}

// An askedTicket is what a worker has asked of a ticket. The answer is there once done is closed.
type askedTicket struct {
	done     chan struct{}
	answer   []byte
	answered time.Time // zero if it is not; the lock of the coordinator is held
}

// A sealedRun is what a worker gets of the run.
type sealedRun struct {
	*object
	asked time.Time // when a worker was told of it last
}

// answer answers a worker. One that has a ticket, and has heard nothing since a connection was lost meanwhile, asks the same again: it is
// handed out once.
func (c *Coordinator) answer(ctx context.Context, text []byte) []byte {
	if len(text) > 0 && text[0] == asks {
		return c.answerShift(ctx, text)
	}
	of := sha256.Sum256(text)
	c.mu.Lock()
	one := c.asked[of]
	if one == nil {
		one = &askedTicket{done: make(chan struct{})}
		c.asked[of] = one
		c.answering.Go(func() {
			defer close(one.done)
			var given bool
			one.answer, given = c.answerTicket(context.WithoutCancel(ctx), text)
			c.mu.Lock()
			defer c.mu.Unlock()
			if one.answered = time.Now(); !given {
				delete(c.asked, of) // it may be another answer the next time, and strangers ask what they like
			}
		})
	}
	c.mu.Unlock()
	select {
	case <-one.done:
		return one.answer
	case <-ctx.Done():
	case <-c.gone:
	}
	return nil
}

// answerTicket answers a worker that has a ticket, and reports whether it was handed out.
func (c *Coordinator) answerTicket(ctx context.Context, text []byte) (out []byte, given bool) {
	var q question
	who, err := verify(c.Workers.Ring(), questionKind, text, &q)
	a := answer{Nonce: q.Nonce}
	switch {
	case err != nil:
		if a.Refused = err.Error(); isStranger(err) {
			a.Refused = "its key is not on the list of workers there (--workers-list)"
		}
		c.warnOfRefused(fmt.Sprintf("a worker was refused: %v%s", err, admitHint(err, c.Workers, "--workers-list", "get hosts")))
	case q.Build != c.Runner.BuildID || q.Version != c.Runner.Options.Version:
		a.Refused = fmt.Sprintf("it has another version of ccm-push (%s) than the controller (%s)", q.Version, c.Runner.Options.Version)
		c.warnOfRefused(fmt.Sprintf("the worker %s was refused: %s", who, a.Refused))
	case !validAddresses(q.Addresses):
		a.Refused = fmt.Sprintf("it names more than %d addresses (--worker-address), or an invalid address", maxAddresses)
		c.warnOfRefused(fmt.Sprintf("the worker %s was refused: %s", who, a.Refused))
	case !c.isFresh(q.Stamp) && !c.isFresh(q.Ticket.Stamp):
		a.Stale = true
	default:
		if err := c.handOut(ctx, who, keyOfSigned(text), q, &a); err != nil {
			c.Warn(fmt.Sprintf("the worker %s: %v", who, err))
			a.Refused = err.Error()
		}
	}
	if a.Refused == "" {
		a.Stamp = c.stamp()
	}
	out, err = sign(c.Key, answerKind, a)
	c.warnOf(err)
	return out, a.Shard != nil
}

// warnOfRefused says once that a worker was refused, which goes on asking.
func (c *Coordinator) warnOfRefused(text string) {
	if c.outages.isNew(refusals, errors.New(text)) {
		c.Warn(text)
	}
}

// handOut gives a worker the hosts of a shard that have not ended.
func (c *Coordinator) handOut(ctx context.Context, who, key string, q question, a *answer) error {
	if what := c.isExcluded(key); what != nil {
		a.Refused = brokeProtocol(what)
		return nil
	}
	s, turns, again := c.remaining(q.Ticket)
	if again { // its hosts may have ended
		if err := c.catchUp(ctx); err != nil {
			return err
		}
		s, turns, _ = c.remaining(q.Ticket)
	}
	if s == nil {
		a.Over = true
		return nil
	}
	if !c.limit(who, key, turns, &q, a) {
		return nil
	}
	if again && c.mayHaveRun(turns) {
		c.lose(s)
		a.Over = true
		return nil
	}
	slices.SortFunc(turns, func(a, b playbooks.Turn) int { return strings.Compare(a.Host, b.Host) })
	content, of, err := c.shardContent(ctx, q, turns)
	if errors.Is(err, errNotRenewed) {
		if c.isWatching() { // its hosts are tried again
			c.fail(s, err.Error())
		} else {
			c.leave(s)
			c.halt(err)
		}
		a.Over = true
		return nil
	}
	if err != nil {
		c.fail(s, err.Error())
		return err
	}
	if !q.Prepared {
		if a.Run, err = c.runContent(ctx, q.Recipient); err != nil {
			c.fail(s, err.Error())
			if c.cannotBePacked() != nil { // the run reports it
				a.Over = true
				return nil
			}
			return err
		}
	}
	c.mu.Lock()
	s.taken++
	for i := range content.Turns {
		content.Turns[i].Again = s.taken > 1
	}
	c.mu.Unlock()
	sealed, err := sealJSON(q.Recipient, content)
	if err == nil {
		a.Shard, err = c.put(ctx, sealed)
	}
	if err != nil {
		return err
	}
	reader, err := newFrameReader(content.Key)
	sealer, sealErr := newSealer(content.Key, content.Handout)
	if err := errors.Join(err, sealErr); err != nil {
		return err
	}
	c.mu.Lock()
	before, left := s.current, len(s.turns)
	happened := "was lost"
	if before != nil && !before.left.IsZero() {
		happened = "was stopped"
	}
	if what := c.excluded[key]; left == 0 || what != nil { // meanwhile
		c.spent = append(c.spent, a.Shard.Name)
		c.mu.Unlock()
		a.Run, a.Shard = nil, nil
		if a.Over = left == 0; !a.Over {
			a.Refused = brokeProtocol(what)
		}
		return nil
	}
	if before != nil { // what it says from now on comes late
		before.over = time.Now()
		for host := range s.turns {
			c.toldOf(s.turns[host].Turn).again()
		}
	}
	h := &handed{
		shard: s, reader: reader, worker: who, key: key, hosts: map[string]bool{}, sshKey: q.SSHKey, recipient: q.Recipient, object: a.Shard.Name, certified: of, addresses: q.Addresses,
		since: time.Now(), lent: map[string]Certificate{}, asks: questions{sealer: sealer, byNumber: map[int]*pending{}}, errands: newErrands(),
	}
	for host := range s.turns {
		h.hosts[host] = true
	}
	s.current, s.lost, c.handed[content.Handout] = h, false, h
	for _, t := range s.turns {
		t.at("at worker " + who)
	}
	watched, stopped := s.watched(), c.stopped
	c.mu.Unlock()
	if before != nil {
		c.Warn(fmt.Sprintf("worker %s %s before %s ended; worker %s continues with them", before.worker, happened, counted(left), who))
		c.unwatched(watched, "its worker was lost", "", before.errands.heard())
	}
	if len(watched) > 0 {
		c.answering.Go(func() { c.overlook(h) })
	}
	if stopped { // it has not heard of that
		c.warnOf(c.order(ctx, order{Stop: true}))
	}
	return nil
}

func brokeProtocol(what error) string { return "it broke the protocol of this run: " + what.Error() }

// remaining is the shard that a ticket is for, with the hosts that have not ended, and whether it was handed out before; nil if it has
// ended, or if it has another ticket by now.
func (c *Coordinator) remaining(t ticket) (s *shard, turns []playbooks.Turn, again bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s = c.shards[t.Shard]
	if s == nil || t.Run != c.name || !t.Until.Equal(s.until) || c.stopped && s.taken == 0 {
		return nil, nil, false
	}
	for _, one := range s.turns {
		turns = append(turns, one.Turn)
	}
	return s, turns, s.taken > 0
}

// mayHaveRun reports whether hosts keep nothing of what a worker had them do, so that it cannot be gone on with.
func (c *Coordinator) mayHaveRun(turns []playbooks.Turn) bool {
	r := c.Runner
	return r.Options.NoLock && !r.Options.Check && slices.ContainsFunc(turns, func(t playbooks.Turn) bool {
		return t.OfAPlay() && slices.ContainsFunc(r.Plays[t.Play].Resources, func(one *manifest.Resource) bool { return one.Query == "" })
	})
}

func counted(hosts int) string {
	if hosts == 1 {
		return "1 host"
	}
	return fmt.Sprintf("%d hosts", hosts)
}

// put keeps an object in the queue.
func (c *Coordinator) put(ctx context.Context, data []byte) (*object, error) {
	name, err := c.run.Put(ctx, data)
	sum := sha256.Sum256(data)
	return &object{name, sum[:]}, err
}

// shardContent is what a worker gets of hosts, and of no others; of is what its certificate is for.
func (c *Coordinator) shardContent(ctx context.Context, q question, turns []playbooks.Turn) (content *shardContent, of Certificate, err error) {
	name := newHandout()
	content = &shardContent{Handout: name, Key: c.keyOf(name), Turns: turns}
	var hosts []*inventory.Host
	for _, t := range turns {
		hosts = append(hosts, c.Runner.Inventory.Host(t.Host))
	}
	w, err := c.wayTo(ctx, Certificate{SSHKey: q.SSHKey, Sources: q.Addresses}, hosts)
	content.Inventory, content.Targets, content.KnownHosts = w.inventory, w.targets, w.knownHosts
	content.Certificate, content.Renew = w.certificate.text, time.Until(w.certificate.renew)
	return content, w.certified, err
}

// A way is how a worker gets to hosts.
type way struct {
	inventory   inventory.Part
	targets     map[string]reach.WireTarget
	knownHosts  string
	certificate certificate
	certified   Certificate
}

// wayTo returns the way to hosts for the holder of a key, with a certificate that has the limits of of, and is for these hosts.
func (c *Coordinator) wayTo(ctx context.Context, of Certificate, hosts []*inventory.Host) (w way, err error) {
	w.targets, w.certified = map[string]reach.WireTarget{}, of
	principals, known := map[string]bool{}, map[string]bool{}
	for _, h := range hosts {
		target, err := c.Runner.Connect.Target(c.Runner.Inventory, h, h.Connection())
		if err != nil {
			return w, err
		}
		w.certified.Jumps = w.certified.Jumps || len(target.Jump) > 0
		for _, one := range append(slices.Clone(target.Jump), target) {
			for _, name := range c.principals(one, h) {
				principals[name] = true
			}
			lines, err := c.Runner.Dialer.KnownHosts(one)
			if err != nil {
				return w, err
			}
			if !known[lines] {
				known[lines] = true
				w.knownHosts += lines
			}
		}
		if w.targets[h.Name], err = reach.NewWireTarget(target); err != nil {
			return w, err
		}
	}
	w.inventory = c.Runner.Inventory.Part(hosts, func(h *inventory.Host) string { return w.targets[h.Name].User })
	w.certified.Principals = slices.Sorted(maps.Keys(principals))
	w.certificate, err = c.certificate(ctx, w.certified)
	return w, err
}

// principals returns the principals by which a worker logs in to a target on the way to a host. Hosts that do not know sites
// yet take the account itself; before the run begins, one is tried without it.
func (c *Coordinator) principals(target transport.Target, h *inventory.Host) (list []string) {
	sites := c.sitesOn(target, h)
	for _, site := range sites {
		if p := usercert.Principal(target.User, site); p != "" {
			list = append(list, p)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(list) == 0 || c.entering == nil || c.unbound[sites[0]] != "" {
		list = append(list, target.User)
	}
	return list
}

// lend gives a worker the way to a host that one of its own has something done on.
func (c *Coordinator) lend(ctx context.Context, h *handed, name string) (*playbooks.Lent, error) {
	if _, err := c.siteOf(name); err != nil {
		return nil, err
	}
	if _, err := c.permits(h.key, name); err != nil {
		return nil, fmt.Errorf("the worker %s gets no certificate for %s: %w", h.worker, name, err)
	}
	w, err := c.wayTo(ctx, Certificate{SSHKey: h.sshKey, Sources: h.addresses}, []*inventory.Host{c.Runner.Inventory.Host(name)})
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	h.lent[name] = w.certified
	c.mu.Unlock()
	return &playbooks.Lent{
		Inventory: w.inventory, Target: w.targets[name], KnownHosts: w.knownHosts, Certificate: w.certificate.text, Renew: time.Until(w.certificate.renew),
	}, nil
}

// certificate is one of a worker's key. It is renewed after half of its time; an authority that does not
// answer then is asked again until most of it is over.
func (c *Coordinator) certificate(ctx context.Context, of Certificate) (certificate, error) {
	c.making.Lock()
	defer c.making.Unlock()
	name := fmt.Sprintf("%s %q %v %v", of.SSHKey, of.Principals, of.Sources, of.Jumps)
	known, began := c.certs[name], time.Now()
	if began.Before(known.renew) {
		return known, nil
	}
	text, valid, err := c.Certify(ctx, of)
	switch {
	case err == nil:
		if c.outages.end(theAuthority) {
			c.Warn("the authority certifies keys of workers again")
		}
	case time.Now().Before(known.last):
		known.renew = time.Now().Add(known.valid / 16)
		c.certs[name] = known
		c.warnOfAuthority(err, known.last)
		return known, nil
	case c.hasCertified():
		if c.isWatching() {
			c.warnOfAuthority(err, known.last)
		}
		return known, fmt.Errorf("%w: %w", errNotRenewed, err)
	}
	var authority ssh.PublicKey
	if err == nil {
		authority, err = signerOf(text)
	}
	if err != nil {
		err = fmt.Errorf("certifying the key of a worker: %w", err)
	}
	c.mu.Lock()
	c.authority, c.uncertified = authority, err
	c.mu.Unlock()
	if err != nil {
		return known, err
	}
	made := certificate{text, valid, began.Add(valid / 2), began.Add(valid - valid/8), began.Add(valid)}
	c.certs[name] = made
	return made, nil
}

// warnOfAuthority says once that the authority does not certify keys any more, and what happens after which time if it goes on like that.
func (c *Coordinator) warnOfAuthority(err error, last time.Time) {
	then := "until " + last.Format(time.TimeOnly) + "; after that no more hosts are started"
	if c.isWatching() {
		then = "while hosts are watched; connected hosts stay watched, but no new login is possible after the certificates expire"
	}
	if c.outages.isNew(theAuthority, err) {
		c.Warn(fmt.Sprintf("%v: %v: the request is repeated %s", errNotRenewed, err, then))
	}
}

// errNotRenewed is that an authority which has certified keys of the run does so no more. That is no
// failure of hosts: they are as they were.
var errNotRenewed = errors.New("the key of a worker is not certified any more")

// leave has hosts of a shard not be begun.
func (c *Coordinator) leave(s *shard) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.endAll(s, stopped)
}

// isWatching reports whether the plays are over, and hosts are watched: that goes on without an authority.
func (c *Coordinator) isWatching() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.watching
}

// halt has the run stop before the certificates end that there are.
func (c *Coordinator) halt(why error) {
	c.halting.Do(func() {
		c.Warn(fmt.Sprintf("%v: no more hosts are started; when the authority answers again, continue the run with ccm-push resume", why))
		close(c.halted)
	})
}

// runContent gives what a worker needs of the run, sealed to a key.
func (c *Coordinator) runContent(ctx context.Context, recipient string) (*object, error) {
	c.making.Lock()
	defer c.making.Unlock()
	if known := c.runs[recipient]; known != nil {
		known.asked = time.Now()
		return known.object, nil
	}
	if err := c.cannotBePacked(); err != nil {
		return nil, err
	}
	if c.whole == nil {
		made, err := c.makeRun()
		if err != nil {
			c.mu.Lock()
			c.unpacked = err
			c.mu.Unlock()
			return nil, err
		}
		c.whole = made
	}
	sealed, err := sealJSON(recipient, c.whole)
	if err != nil {
		return nil, err
	}
	made, err := c.put(ctx, sealed)
	if err == nil {
		c.runs[recipient] = &sealedRun{made, time.Now()}
	}
	return made, err
}

// cannotBePacked returns why no worker can get the run; nil if one can, or if none has asked.
func (c *Coordinator) cannotBePacked() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.unpacked
}

func (c *Coordinator) makeRun() (*runContent, error) {
	r := c.Runner
	content := &runContent{Recipe: c.Recipe, Options: r.Options, Names: r.Needs.Names, Extra: layersOf(r.Options.Catalog.Extra)}
	o := &content.Options
	o.Catalog, o.Progress, o.Forks, o.Files, o.Limit, o.Follow = catalog.Options{}, nil, 0, 0, "", ""
	if r.Needs.Environ {
		content.Environ = r.Options.Catalog.Environ
	}
	content.Recipe.EnvFile = r.Options.Catalog.EnvFile && r.Needs.Environ
	if facts := r.Options.Catalog.Facts; len(facts) > 0 {
		content.Facts.Node = yamlpos.From(&yamlpos.Node{File: "--facts"}, facts)
	}
	content.User, content.LocalUser = r.Connect.User, r.Connect.LocalUser
	content.Become = become{Become: r.Connect.Become, User: r.Connect.BecomeUser, Method: r.Connect.BecomeMethod}
	if p := r.Connect.BecomePassword; p != nil {
		content.Become.Password = p.Reveal()
	}
	content.Opened = c.Recipe.Sealed.open()
	if d := c.Recipe.Hiera; d != nil {
		c.Recipe.Sealed.file(&content.Opened, d.Name, d.Data)
	}
	var sent []string
	var err error
	content.Files, sent, err = c.packRun(func(name string, data []byte) {
		c.Recipe.Sealed.file(&content.Opened, name, data)
	})
	if c.List != nil {
		for _, line := range sent {
			c.List(line)
		}
	}
	return content, err
}

// loginKeys are the files with the private keys by which hosts are logged in to from here.
func (c *Coordinator) loginKeys() (paths []string) {
	r := c.Runner
	known := map[string]bool{}
	for _, h := range r.Inventory.Hosts() {
		target, err := r.Connect.Target(r.Inventory, h, h.Connection())
		if err != nil { // it fails for that
			continue
		}
		for _, t := range append(target.Jump, target) {
			for _, path := range t.PrivateKeys {
				if path = transport.ExpandHome(path, r.Dialer.Home); !known[path] {
					known[path] = true
					paths = append(paths, path)
				}
			}
		}
	}
	return paths
}
