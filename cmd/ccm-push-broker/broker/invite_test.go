package broker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/playbooks/natsconn"
	"github.com/ccm-push/ccm-push/playbooks/workers"
	"github.com/ccm-push/ccm-push/playbooks/workers/keyring"
	"github.com/ccm-push/ccm-push/playbooks/workers/queue"
)

// inviting is a controller with an invitation.
type inviting struct {
	*people
	key        keyring.Key
	invitation *workers.Invitation
	seen       string // fingerprint that the controller has printed
	recorded   []string
}

func newInviting(t *testing.T) *inviting {
	i := &inviting{people: admitAt(t, false)}
	private, _, err := workers.NewWorkerKey("controller")
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "key")
	require.NoError(t, os.WriteFile(file, private, 0o600))
	i.key, err = keyring.ReadKey(file)
	require.NoError(t, err)
	i.renew()
	return i
}

// renew makes another invitation.
func (i *inviting) renew() {
	ca, err := os.ReadFile(i.broker.CA())
	require.NoError(i.t, err)
	i.invitation, err = workers.NewInvitation("tls://"+i.broker.address, ca, i.key, "ctl", "paris")
	require.NoError(i.t, err)
	token, err := i.invitation.Token()
	require.NoError(i.t, err)
	require.Less(i.t, len(token), 4000, "a terminal takes no longer line")
	i.invitation, err = workers.ParseToken(" " + token[:40] + "\n" + token[40:] + "\n") // with line breaks, as from a terminal
	require.NoError(i.t, err)
}

// await starts the wait for a machine. answer confirms or refuses the fingerprint.
func (i *inviting) await(ctx context.Context, as Role, answer func(fingerprint string) error) (ended <-chan error) {
	ready, end := make(chan struct{}), make(chan error, 1)
	conn := i.conn(as)
	go func() {
		end <- i.invitation.Await(ctx, conn, func() error { close(ready); return nil }, func(c *workers.Candidate) error {
			i.seen = i.invitation.Fingerprint(c)
			return answer(i.seen)
		}, func(c *workers.Candidate) error {
			line, err := c.Line("paris")
			i.recorded = append(i.recorded, line)
			return err
		})
	}()
	select {
	case <-ready:
	case err := <-end:
		end <- err
	case <-ctx.Done():
	}
	return end
}

// candidate returns a machine with keys of its own.
func (i *inviting) candidate(name string) (*workers.Candidate, string) {
	_, public, err := workers.NewWorkerKey(name)
	require.NoError(i.t, err)
	user, err := nkeys.CreateUser()
	require.NoError(i.t, err)
	seed, err := user.Seed()
	require.NoError(i.t, err)
	file := filepath.Join(i.t.TempDir(), "seed")
	require.NoError(i.t, os.WriteFile(file, seed, 0o600))
	c := &workers.Candidate{Name: name, Key: public.Marshal()}
	c.NKey, err = user.PublicKey()
	require.NoError(i.t, err)
	return c, file
}

// login logs in with the rights of the invitation, once the broker knows it.
func (i *inviting) login(refused func(string)) (*nats.Conn, error) {
	pair, err := i.invitation.Login()
	require.NoError(i.t, err)
	seed, err := pair.Seed()
	require.NoError(i.t, err)
	file := filepath.Join(i.t.TempDir(), "seed")
	require.NoError(i.t, os.WriteFile(file, seed, 0o600))
	return i.loginWith(file, refused)
}

func (i *inviting) loginWith(seed string, refused func(string)) (conn *nats.Conn, err error) {
	for range 20 {
		link := natsconn.New(natsconn.Config{Servers: "tls://" + i.broker.address, CA: i.broker.CA(), NKey: seed, Warn: refused})
		if conn, err = link.Conn(i.t.Context()); err == nil {
			i.t.Cleanup(link.Close)
			return conn, nil
		}
		link.Close()
		time.Sleep(200 * time.Millisecond)
	}
	return nil, err
}

func (i *inviting) usersOf(role Role) (names []string) {
	users, err := i.broker.Users()
	require.NoError(i.t, err)
	for _, u := range users {
		if u.Role == role {
			names = append(names, u.Name)
		}
	}
	return names
}

func yes(string) error { return nil }

// TestInvite lets a machine join: by a coordinator, and by an operator.
func TestInvite(t *testing.T) {
	i := newInviting(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for n, as := range []Role{Coordinator, Operator} {
		name := fmt.Sprint("w", n)
		i.renew()
		ended := i.await(ctx, as, yes)
		require.Len(t, i.usersOf(Invited), n+1)
		conn, err := i.login(nil)
		require.NoError(t, err)
		c, seed := i.candidate(name)
		require.NoError(t, i.invitation.Join(ctx, conn, c))
		require.NoError(t, <-ended)
		require.Equal(t, i.invitation.Fingerprint(c), i.seen)
		require.Regexp(t, "^([A-Z2-7]{4}-){3}[A-Z2-7]{4}$", i.seen)
		line, err := c.Line("paris")
		require.NoError(t, err)
		require.Equal(t, line, i.recorded[n])
		require.Contains(t, i.usersOf(Worker), name)
		worker, err := i.loginWith(seed, nil)
		require.NoError(t, err)
		q, err := queue.NewJetStream(worker, 0)
		require.NoError(t, err)
		require.NoError(t, q.Announce(ctx, name, []byte("here")))
		require.Eventually(t, func() bool {
			all, _, err := i.queue(Coordinator).Present(ctx)
			return err == nil && slices.ContainsFunc(all, func(p queue.Presence) bool { return p.User == c.NKey })
		}, time.Minute, 10*time.Millisecond)
		// The token is used up, though its user can get the answer for a while.
		pair, err := i.invitation.Login()
		require.NoError(t, err)
		key, err := pair.PublicKey()
		require.NoError(t, err)
		other, _ := i.candidate("other")
		for _, r := range []queue.InviteRequest{{Key: key, Admit: &queue.Admission{Name: "other", Key: other.NKey}}, {Key: key, Invite: true}} {
			require.Error(t, queue.RequestInvite(ctx, i.conn(Coordinator), r))
		}
		require.ErrorContains(t, i.invitation.Join(ctx, conn, other), "no longer waits for this worker")
		require.NotContains(t, i.usersOf(Worker), "other")
	}
	require.Eventually(t, func() bool { return len(i.usersOf(Invited)) == 0 }, usedTime+10*time.Second, 100*time.Millisecond)
	_, err := i.login(nil)
	require.Error(t, err)
}

// TestInviteIsRefused refuses a fingerprint, and waits for a machine that does not join: no key is kept.
func TestInviteIsRefused(t *testing.T) {
	i := newInviting(t)
	ended := i.await(t.Context(), Coordinator, func(string) error { return errors.New("the fingerprints differ") })
	conn, err := i.login(nil)
	require.NoError(t, err)
	c, _ := i.candidate("w9")
	require.EqualError(t, i.invitation.Join(t.Context(), conn, c), "this machine was not admitted: the fingerprints differ")
	require.EqualError(t, <-ended, "the fingerprints differ")
	require.Empty(t, i.recorded)
	require.NotContains(t, i.usersOf(Worker), "w9")
	require.Empty(t, i.usersOf(Invited))
	require.Eventually(t, func() bool { return !conn.IsConnected() }, time.Minute, 10*time.Millisecond, "the invited user was removed")

	i.renew()
	ctx, cancel := context.WithCancel(t.Context())
	ended = i.await(ctx, Coordinator, yes)
	require.NotEmpty(t, i.usersOf(Invited))
	cancel()
	require.ErrorIs(t, <-ended, context.Canceled)
	require.Empty(t, i.usersOf(Invited))

	i.renew()
	i.invitation.Until = time.Now().Add(2 * time.Second)
	require.EqualError(t, <-i.await(t.Context(), Coordinator, yes), "the invitation has expired, and no machine has joined")
	i.invitation.Until = time.Now().Add(-time.Second)
	token, err := i.invitation.Token()
	require.NoError(t, err)
	_, err = workers.ParseToken(token)
	require.ErrorContains(t, err, "the token has expired at ")
}

// TestInviteAttacks tries to get more rights: as an invited machine, with a stolen token, and with other roles.
func TestInviteAttacks(t *testing.T) {
	i := newInviting(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	real, _ := i.candidate("real")
	want := i.invitation.Fingerprint(real)
	ended := i.await(ctx, Coordinator, func(seen string) error {
		if seen != want {
			return errors.New("the fingerprints differ")
		}
		return nil
	})
	pair, err := i.invitation.Login()
	require.NoError(t, err)
	own, err := pair.PublicKey()
	require.NoError(t, err)
	var mu sync.Mutex
	refused := ""
	conn, err := i.login(func(text string) {
		mu.Lock()
		defer mu.Unlock()
		refused += text + "\n"
	})
	require.NoError(t, err)
	isRefused := func(what string) {
		t.Helper()
		require.Eventually(t, func() bool {
			mu.Lock()
			defer mu.Unlock()
			return strings.Contains(refused, what)
		}, time.Minute, 10*time.Millisecond, what)
	}
	inbox := natsconn.Inbox(own) + ".x"
	for _, subject := range []string{queue.Invites, queue.JoinOf("UABC"), "ccm-push.ask.run1", "ccm-push.said.run1", "ccm-push.presence." + own + ".w", "$JS.API.INFO", "$JS.API.STREAM.CREATE.x", "$KV.CFG.x"} {
		require.NoError(t, conn.PublishRequest(subject, inbox, []byte("{}")))
		isRefused(`Publish to "` + subject + `"`)
	}
	for _, subject := range []string{"ccm-push.>", queue.Joins, "_INBOX.>", "$JS.>", queue.Orders} {
		_, err := conn.SubscribeSync(subject)
		require.NoError(t, err)
		isRefused(`Subscription to "` + subject + `"`)
	}
	require.NoError(t, conn.PublishRequest(queue.JoinOf(own), "ccm-push.invite", nil))
	isRefused(`Reply of "ccm-push.invite"`)
	require.NoError(t, conn.PublishRequest(queue.JoinOf(own), inbox, make([]byte, queue.MaxJoin+1)))
	isRefused(`Publish to "` + queue.JoinOf(own) + `"`)
	for _, text := range []string{"", "{}", `{"name":"w","key":"","nkey":""}`} { // without the secret
		require.NoError(t, conn.PublishRequest(queue.JoinOf(own), inbox, []byte(text)))
	}
	for _, role := range []Role{Worker, Reader} {
		require.NoError(t, i.conn(role).PublishRequest(queue.Invites, i.conn(role).NewRespInbox(), []byte("{}")))
		i.isRefused(role, `Publish to "`+queue.Invites+`"`)
	}
	key, _ := i.candidate("x")
	ask := func(r queue.InviteRequest) string {
		err := queue.RequestInvite(ctx, i.conn(Coordinator), r)
		if err == nil {
			return ""
		}
		return err.Error()
	}
	for _, c := range []struct {
		request queue.InviteRequest
		answer  string
	}{
		{queue.InviteRequest{}, "the request is not valid"},
		{queue.InviteRequest{Key: "../x", Invite: true}, "the request is not valid"},
		{queue.InviteRequest{Key: own}, "the request is not valid"},
		{queue.InviteRequest{Key: key.NKey, Revoke: true}, "the invitation has expired, or was used"},
		{queue.InviteRequest{Key: key.NKey, Admit: &queue.Admission{Name: "x", Key: key.NKey}}, "the invitation has expired, or was used"},
		{queue.InviteRequest{Key: own, Admit: &queue.Admission{Name: "operator", Key: key.NKey}}, "remove this user on the machine of the broker: ccm-push-broker user remove operator --dir " + i.broker.Dir},
		{queue.InviteRequest{Key: own, Admit: &queue.Admission{Name: "../x", Key: key.NKey}}, "write letters, digits"},
		{queue.InviteRequest{Key: own, Admit: &queue.Admission{Name: "invite-x", Key: key.NKey}}, "the request is not valid"},
		{queue.InviteRequest{Key: own, Admit: &queue.Admission{Name: "x", Key: "SUABC"}}, "the request is not valid"},
		{queue.InviteRequest{Key: own, Admit: &queue.Admission{Name: "x", Key: i.users[0].Key}}, "the key belongs to another user"},
		{queue.InviteRequest{Key: i.users[0].Key, Invite: true}, "the key belongs to another user"},
	} {
		require.Contains(t, ask(c.request), c.answer, "%+v", c.request)
	}
	// A thief of the token has another fingerprint.
	thief, _ := i.candidate("real")
	require.NotEqual(t, want, i.invitation.Fingerprint(thief))
	require.EqualError(t, i.invitation.Join(ctx, conn, thief), "this machine was not admitted: the fingerprints differ")
	require.EqualError(t, <-ended, "the fingerprints differ")
	require.NotContains(t, i.usersOf(Worker), "real")

	for n := range maxInvited {
		one, _ := i.candidate("x")
		require.Empty(t, ask(queue.InviteRequest{Key: one.NKey, Invite: true}), n)
	}
	require.Contains(t, ask(queue.InviteRequest{Key: key.NKey, Invite: true}), "20 invitations are open")
	require.NoError(t, i.broker.writeUser("invite-old", key.NKey+" invited 1"))
	require.NotContains(t, i.usersOf(Invited), "invite-old")
	_, err = os.Stat(filepath.Join(i.broker.Dir, "users", "invite-old"))
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = ParseRole(string(Invited))
	require.Error(t, err, "no user is added with that role by hand")
}
