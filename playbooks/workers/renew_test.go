package workers

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"

	"github.com/ccm-push/ccm-push/playbooks/workers/queue"
	"github.com/ccm-push/ccm-push/playbooks/workers/queue/queuetest"
	"github.com/ccm-push/ccm-push/transport/sshtest"
)

// waiting makes each host of a play wait for the file go, next to its own.
const waiting = `
ccm: {resources: [exec: ["touch {{ Data.dir }}/begun; n=0; while test ! -e {{ Data.dir }}/go && test $n -lt 6000; do sleep 0.1; n=$((n+1)); done": {provider: shell}]]}
`

// numbered makes the authority number its certificates, which are valid for a time. It refuses those for which refuse
// returns an error.
func (s *site) numbered(c *Coordinator, valid time.Duration, refuse func(serial uint64) error) {
	var serial atomic.Uint64
	c.Certify = func(_ context.Context, of Certificate) ([]byte, time.Duration, error) {
		public, err := ssh.ParsePublicKey(of.SSHKey)
		require.NoError(s.t, err)
		cert := &ssh.Certificate{
			Key: public, CertType: ssh.UserCert, KeyId: "worker", ValidPrincipals: of.Principals, Serial: serial.Add(1), ValidBefore: ssh.CertTimeInfinity,
		}
		if err := refuse(cert.Serial); err != nil {
			return nil, 0, err
		}
		require.NoError(s.t, cert.SignCert(rand.Reader, s.authority))
		return ssh.MarshalAuthorizedKey(cert), valid, nil
	}
}

func (s *site) exists(name string) func() bool {
	return func() bool {
		_, err := os.Stat(filepath.Join(s.dir, name))
		return err == nil
	}
}

// newest is the number of the newest certificate that a worker has.
func newest(t *testing.T, w *Worker) uint64 { return newestOf(t, w, "*"+certificateFile) }

// TestRenewed has a shard that takes longer than the certificate is valid: the current host is not affected, and the
// next login uses another certificate.
func TestRenewed(t *testing.T) {
	queues(t, func(t *testing.T, open func(dir string) queue.Queue) {
		s := newSite(t, waiting, "web1", "web2")
		var oldest, refused atomic.Uint64
		s.admits = func(c *ssh.Certificate) error {
			if c.Serial < oldest.Load() {
				refused.Add(1)
				return errors.New("it has ended")
			}
			return nil
		}
		var worker *Worker
		q := open(s.dir)
		s.work(q, "worker", "", func(w *Worker) { w.Forks, worker = 1, w })
		got := &recorded{}
		c, warned := s.coordinator(q, s.runner(s.inventory(map[string]string{"web1": fmt.Sprintf("dir: %q,", s.dir), "web2": fmt.Sprintf("dir: %q,", s.dir)}), got))
		s.numbered(c, 2*time.Second, func(uint64) error { return nil })
		go func() {
			require.Eventually(t, s.exists("begun"), wait, 10*time.Millisecond)
			require.Eventually(t, func() bool { return newest(t, worker) > 1 }, wait, 10*time.Millisecond)
			oldest.Store(2)
			s.write("go", "")
		}()
		summary := s.run(c)
		require.Equal(t, 2, summary.Totals.Hosts.OK, "%s", warned.all())
		require.Zero(t, refused.Load(), "a certificate was used that has ended")
		require.Len(t, got.lines(s), 2*2)
		require.Empty(t, warned.all())
	})
}

// An ordering queue reports when workers have received an order.
type ordering struct {
	queue.Queue
	ordered chan struct{}
}

type orderingRun struct {
	queue.Run
	ordered chan struct{}
}

func (q ordering) Open(ctx context.Context, name string) (queue.Run, error) {
	run, err := q.Queue.Open(ctx, name)
	return orderingRun{run, q.ordered}, err
}

func (r orderingRun) Order(ctx context.Context, data []byte) error {
	defer func() { r.ordered <- struct{}{} }()
	return r.Run.Order(ctx, data)
}

// TestNotRenewedAtWork ends the authority while a shard is in progress: the current resource ends, no other host
// begins, and none fails.
func TestNotRenewedAtWork(t *testing.T) {
	s := newSite(t, waiting, "web1", "web2")
	q := ordering{queuetest.New(0), make(chan struct{}, 10)}
	s.work(q, "worker", "", func(w *Worker) { w.Forks = 1 })
	c, warned := s.coordinator(q, s.runner(s.inventory(map[string]string{"web1": fmt.Sprintf("dir: %q,", s.dir), "web2": fmt.Sprintf("dir: %q,", s.dir)})))
	s.numbered(c, time.Second, func(serial uint64) error {
		if serial > 1 && s.exists("begun")() {
			return errors.New("nobody has unlocked the agent")
		}
		return nil
	})
	require.NoError(t, c.Begin(t.Context()))
	go func() {
		<-q.ordered
		s.write("go", "")
	}()
	summary, err := c.Runner.Run(t.Context(), c.Halted())
	require.NoError(t, errors.Join(err, c.Close(t.Context())))
	require.True(t, summary.Interrupted)
	require.Equal(t, 1, summary.Totals.Hosts.OK, warned.all())
	require.Equal(t, 1, summary.Totals.Hosts.NotStarted)
	require.Equal(t, 1, strings.Count(warned.all(), "nobody has unlocked the agent: no more hosts are started; when the authority answers again, continue the run with ccm-push resume"), warned.all())
}

// TestCertificates requests certificates from an authority again and again.
func TestCertificates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &site{t: t, authority: sshtest.NewKey(t, "")}
		said := &warnings{}
		c := &Coordinator{}
		var down error
		s.numbered(c, time.Hour, func(uint64) error { return down })
		a := newAuthority(c.Certify, said.add, func() bool { return false })
		key := sshtest.NewKey(t, "").PublicKey().Marshal()
		of := Certificate{SSHKey: key, Principals: []string{"deploy"}}
		certificate := func(after time.Duration, of Certificate) (certificate, error) {
			time.Sleep(after)
			return a.certificate(t.Context(), of)
		}
		first, err := certificate(0, of)
		require.NoError(t, err)
		require.Equal(t, 30*time.Minute, time.Until(first.renew))
		same, err := certificate(29*time.Minute, of)
		require.NoError(t, err)
		require.Equal(t, first, same)
		second, err := certificate(time.Minute, of)
		require.NoError(t, err)
		require.NotEqual(t, first.text, second.text, "half of its time is over")

		down = errors.New("it is down")
		same, err = certificate(40*time.Minute, of)
		require.NoError(t, err)
		require.Equal(t, second.text, same.text, "it is good for a while")
		require.Equal(t, time.Hour/16, time.Until(same.renew))
		require.Contains(t, said.all(), "the key of a worker is not certified any more: it is down: the request is repeated until ")
		_, err = certificate(0, Certificate{SSHKey: key, Principals: []string{"other"}})
		require.ErrorIs(t, err, errNotRenewed, "there is none for that account")
		_, err = certificate(13*time.Minute, of)
		require.ErrorIs(t, err, errNotRenewed)
		down = nil
		third, err := certificate(0, of)
		require.NoError(t, err)
		require.NotEqual(t, second.text, third.text)
	})
}
