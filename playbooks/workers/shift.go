package workers

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/ccm-push/ccm-push/modules/rooted"
	"github.com/ccm-push/ccm-push/playbooks"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/reach"
	"github.com/ccm-push/ccm-push/playbooks/secret"
	"github.com/ccm-push/ccm-push/playbooks/workers/keyring"
	"github.com/ccm-push/ccm-push/playbooks/workers/parcel"
	"github.com/ccm-push/ccm-push/playbooks/workers/sealing"
	"github.com/ccm-push/ccm-push/transport"
	"github.com/ccm-push/ccm-push/transport/dial"
)

// A shift is one shard in progress at a worker.
type shift struct {
	worker *Worker
	job    *job

	stop, kill func()
	toldStop   sync.Once           // the message about an order to stop
	rename     func([]byte) []byte // see [talker]
	silent     func(error)         // called if the coordinator does not answer
	sealer     sealing.Sealer
	asked      numbers
	waits      func() // called if hosts wait for others
	orders     orders // about hosts that are watched
	loans      loans
	taken      atomic.Bool // these are watched by others
	wrong      atomic.Pointer[breachError]
}

// work takes the hosts of a shard through their play. whole is false if some were left to others. At the end of held
// other workers may have them: then running resources end, and nothing else is begun.
func (s *shift) work(ctx, held context.Context, stop <-chan struct{}, a *answer) (whole bool, err error) {
	var content shardContent
	err = s.prepare(held, a, &content)
	if wrong, is := errors.AsType[*breachError](err); is {
		return s.refuse(ctx, &content, wrong)
	}
	if err != nil {
		return false, err
	}
	enough := make(chan struct{})
	defer close(enough)
	outer := ctx
	s.waits = sync.OnceFunc(func() { s.worker.beside(outer, stop, enough) })
	watching := slices.ContainsFunc(content.Turns, playbooks.Requests[playbooks.WatchRequest])
	if watching || slices.ContainsFunc(content.Turns, playbooks.Requests[playbooks.RollRequest]) {
		s.waits()
	}
	ctx, kill := context.WithCancel(ctx)
	defer kill()
	stopped := make(chan struct{})
	s.kill, s.stop = kill, sync.OnceFunc(func() { close(stopped) })
	writer, err := sealing.NewFrameWriter(content.Key, content.Handout)
	if err != nil {
		return false, err
	}
	if len(content.Turns) == 0 {
		return true, nil
	}
	s.rename = renamed(s.job.content.Recipe.Names(s.root()))
	if s.sealer, err = sealing.NewSealer(content.Key, content.Handout); err != nil {
		return false, err
	}
	t := &talker{ctx: ctx, member: s.job.member, writer: writer, rename: s.rename}
	t.failed = func(error) { s.stop() } // the running resources end: if they were killed, others would have to run them again
	s.silent = func(error) { s.kill() }
	if err := s.job.member.Orders(ctx, s.ordered); err != nil {
		return false, err
	}
	hosts := content.hosts()
	unended := &remaining{hosts: maps.Clone(hosts)}
	ended := s.worker.took(s.job.content.Options.Run, content.Turns)
	defer func() { ended(unended.count()) }()
	done := make(chan struct{})
	var beside sync.WaitGroup
	beside.Go(func() { t.talk(ctx, done) })
	beside.Go(func() {
		select {
		case <-stop:
			s.stop()
		case <-held.Done():
			s.stop()
		case <-done:
		}
	})
	logins, loggedIn := context.WithCancel(ctx)
	beside.Go(func() { s.keepCertified(logins, filesOf(&content), "", content.Renew) })
	beside.Go(func() {
		if watching {
			s.runErrands(logins, hosts)
		} else {
			s.stayHeard(logins)
		}
	})
	err = s.turns(ctx, stopped, &content, t, func(host string, end playbooks.TurnEnd) {
		if (closed(stop) || held.Err() != nil) && (end.Stopped || end.Killed) { // other workers take them
			return
		}
		if s.wrong.Load() != nil && (end.Stopped || end.Killed) { // they end with the reason
			return
		}
		unended.end(host)
		t.ended(host, end)
	})
	close(done)
	loggedIn()
	beside.Wait()
	s.loans.endAll()
	s.dropKeys(filesOf(&content))
	return s.report(ctx, held, stop, t, unended, err)
}

// Waiting implements [playbooks.Controller].
func (s *shift) Waiting() { s.waits() }

// hosts returns the names of the hosts of a shard.
func (c *shardContent) hosts() map[string]bool {
	names := map[string]bool{}
	for _, turn := range c.Turns {
		names[turn.Host] = true
	}
	return names
}

// report sends the end of the shift to the coordinator: err is the error of its turns.
func (s *shift) report(ctx, held context.Context, stop <-chan struct{}, t *talker, unended *remaining, err error) (whole bool, _ error) {
	failed := ""
	if err != nil {
		failed = err.Error()
	}
	if wrong := s.wrong.Load(); wrong != nil {
		failed = wrong.Error()
	} else if s.taken.Load() { // its ticket comes again, if no other worker has taken it
		return false, errTaken
	}
	if held.Err() == nil && failed == "" && unended.count() == 0 {
		// The coordinator may be done with the run, and have closed it, once it has heard of the last host.
		return true, t.await(context.WithoutCancel(ctx))
	}
	if err := t.over(context.WithoutCancel(ctx), failed); err != nil {
		return false, err
	}
	if held.Err() != nil {
		return false, context.Cause(held)
	}
	return failed != "" || !closed(stop), nil
}

// A breachError is the error for data from a coordinator that no program of the same build sends.
type breachError struct{ err error }

func (e *breachError) Error() string {
	return "the coordinator broke the protocol of this run: " + e.err.Error()
}

func (e *breachError) Unwrap() error { return e.err }

// breach ends the shift: resources that are running end, nothing else begins, and the coordinator receives the reason.
func (s *shift) breach(wrong *breachError) {
	if s.wrong.CompareAndSwap(nil, wrong) {
		s.worker.Say(wrong.Error())
	}
	s.stop()
}

// refuse reports to the coordinator, and here, why the worker refuses the data that it received. Without a key for that
// the coordinator gets no answer.
func (s *shift) refuse(ctx context.Context, content *shardContent, wrong *breachError) (whole bool, err error) {
	writer, err := sealing.NewFrameWriter(content.Key, content.Handout)
	if err != nil {
		return false, wrong
	}
	s.worker.Say(wrong.Error())
	unchanged := func(text []byte) []byte { return text }
	t := &talker{ctx: ctx, member: s.job.member, writer: writer, rename: unchanged, failed: func(error) {}}
	return true, t.over(context.WithoutCancel(ctx), wrong.Error())
}

// remaining are hosts that have not ended.
type remaining struct {
	mu    sync.Mutex
	hosts map[string]bool
}

func (r *remaining) end(host string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.hosts, host)
}

func (r *remaining) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.hosts)
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// ordered obeys the coordinator.
func (s *shift) ordered(data []byte) {
	var o order
	if _, err := keyring.Verify(s.worker.Coordinators.Ring(), orderKind, data, &o); err != nil || o.Run != s.job.name {
		return
	}
	if o.Stop || o.Kill {
		s.stop()
		s.toldStop.Do(func() { s.worker.Say("the operator stopped the run; resources in progress finish") })
	}
	if o.Kill {
		s.kill()
	}
}

// root returns the folder of the run's files.
func (s *shift) root() string { return filepath.Join(s.job.folder.path, "files") }

// prepare fetches the needed objects. A [breachError] about the run is returned after the hosts are fetched too: the
// coordinator receives it with their key.
func (s *shift) prepare(ctx context.Context, a *answer, content *shardContent) error {
	err := s.job.prepare(ctx, a)
	if _, is := errors.AsType[*breachError](err); err != nil && !is {
		return err
	}
	return cmp.Or(err, s.job.fetch(ctx, a.Shard, content))
}

// prepare fetches the needed objects of the run, once.
func (j *job) prepare(ctx context.Context, a *answer) error {
	j.making.Lock()
	defer j.making.Unlock()
	if j.content != nil {
		return nil
	}
	var run runContent
	if err := j.fetch(ctx, a.Run, &run); err != nil {
		return err
	}
	j.content = &run
	return nil
}

// prepared reports whether that is done. It does not wait for another shift that prepares it now.
func (j *job) prepared() bool {
	if !j.making.TryLock() {
		return false
	}
	defer j.making.Unlock()
	return j.content != nil
}

// plays reads the plays of the run, once.
func (s *shift) plays(ctx context.Context) error {
	j, r := s.job, s.job.content.Recipe
	j.making.Lock()
	defer j.making.Unlock()
	if j.plays != nil {
		return nil
	}
	root := s.root()
	if err := os.Mkdir(root, 0o700); err != nil {
		return err
	}
	defer func() {
		if j.plays == nil { // the next shard tries again, with the same result
			_ = os.RemoveAll(root)
		}
	}()
	if err := parcel.Unpack(j.content.Files, root); err != nil {
		return fmt.Errorf("unpacking the plays: %w", err)
	}
	ring := j.content.Opened.Ring()
	plays, err := r.Plays(ctx, root, s.worker.Registry, r.Unpacker(root, j.folder.path), ring)
	if err != nil {
		return err
	}
	if j.hiera, err = r.Hiera.Source(ring, func(string) {}); err != nil {
		return err
	}
	j.plays, j.content.Files = plays, nil
	return nil
}

// turns takes the hosts of a shard through their play.
func (s *shift) turns(ctx context.Context, stop <-chan struct{}, content *shardContent, t *talker, ended func(string, playbooks.TurnEnd)) error {
	if err := s.plays(ctx); err != nil {
		return err
	}
	r, err := s.runner(content)
	if err != nil {
		return err
	}
	defer s.job.connections.CloseDialer(r.Dialer)
	r.Connect.Warn = t.warn
	r.Events = events.NewStream(r.Options.Run, time.Now, t).WithMask(r.Options.Catalog.Mask)
	return r.Turns(ctx, stop, content.Turns, ended)
}

// filesOf is the name of the files that it takes to log in to hosts of a shard: other shards have files of their own.
func filesOf(content *shardContent) string { return hex.EncodeToString(content.Handout[:]) }

// The files that it takes to log in have a name that is theirs, and these ends.
const (
	knownHostsFile  = ".known_hosts"
	keyFile         = ""
	certificateFile = "-cert.pub"
)

// dropKeys removes files of a name.
func (s *shift) dropKeys(name string) {
	for _, end := range []string{knownHostsFile, keyFile, certificateFile} {
		if err := os.Remove(filepath.Join(s.job.folder.path, name+end)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			s.worker.Say(err.Error())
		}
	}
}

// withKeys returns a function that makes targets from data of the coordinator: they log in with this worker's key of
// the run. The files with that name are written once.
func (s *shift) withKeys(name, knownHosts string, certificate []byte) func(reach.WireTarget) (transport.Target, error) {
	j := s.job
	files := sync.OnceValues(func() (paths [3]string, err error) {
		for i, file := range []struct {
			name string
			data []byte
		}{{name + knownHostsFile, []byte(knownHosts)}, {name + keyFile, j.private}, {name + certificateFile, certificate}} {
			if paths[i], err = j.write(file.name, file.data); err != nil {
				return paths, err
			}
		}
		return paths, nil
	})
	equip := func(t *transport.Target, paths [3]string) {
		t.PrivateKeys, t.Certificates = []string{paths[1]}, []string{paths[2]}
		t.KnownHosts, t.GlobalKnownHosts = []string{paths[0]}, []string{}
	}
	return func(w reach.WireTarget) (transport.Target, error) {
		t, err := w.Target()
		if err != nil {
			return t, err
		}
		paths, err := files()
		equip(&t, paths)
		for i := range t.Jump {
			equip(&t.Jump[i], paths)
		}
		return t, err
	}
}

// trustHint returns the hint for a host, or a jump host, whose key is unknown: the machine where the run began must
// trust it.
func trustHint(targets map[string]transport.Target) func(transport.Target, ssh.PublicKey) string {
	return func(t transport.Target, _ ssh.PublicKey) string {
		name := t.Host
		for host, behind := range targets { // the inventory may not have a jump host
			if slices.ContainsFunc(behind.Jump, func(one transport.Target) bool { return one.Host == t.Host }) {
				name = host
			}
		}
		return "compare the fingerprint with the one on the console of the host; if they are equal, trust the key on the machine where the run began: ccm-push trust " + name
	}
}

// runner returns the runner for the hosts of a shard.
func (s *shift) runner(content *shardContent) (*playbooks.Runner, error) {
	w, j, run := s.worker, s.job, s.job.content
	inv, err := content.Inventory.Inventory()
	if err != nil {
		return nil, err
	}
	equip := s.withKeys(filesOf(content), content.KnownHosts, content.Certificate)
	targets := map[string]transport.Target{}
	for host, t := range content.Targets {
		if targets[host], err = equip(t); err != nil {
			return nil, err
		}
	}
	options := run.Options
	options.Forks, options.Files = w.Forks, w.Files/cmp.Or(w.Shards, defaultShards)
	o := &options.Catalog
	o.Mask, o.Hiera, o.Environ, o.EnvFile = &secret.Mask{}, j.hiera, run.Environ, run.Recipe.EnvFile
	o.Opener = run.Opened.Ring().Opener()
	if o.Environ == nil {
		o.Environ = map[string]any{}
	}
	for _, l := range run.Extra {
		one, err := l.layer()
		if err != nil {
			return nil, err
		}
		o.Extra = append(o.Extra, one)
	}
	if run.Facts.Node != nil {
		o.Facts, _ = run.Facts.Any().(map[string]any)
	}
	connect := reach.Options{
		User: run.User, LocalUser: run.LocalUser, Become: run.Become.Become, BecomeUser: run.Become.User, BecomeMethod: run.Become.Method,
	}
	if len(run.Become.Password) > 0 {
		connect.BecomePassword = transport.NewSecret(run.Become.Password)
	}
	return &playbooks.Runner{
		Inventory: inv, Plays: j.plays, Dialer: &dial.Dialer{FileDir: rooted.FileDir, TrustHint: trustHint(targets)}, Builds: w.Builds, FullBuilds: w.FullBuilds, BuildID: w.BuildID,
		Connect: connect, Options: options, Now: time.Now, NewNonce: rand.Text, Names: &run.Names, Targets: targets,
		Controller: s, Connections: &j.connections,
	}, nil
}
