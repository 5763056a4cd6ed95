package workers

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/workers/queue/queuetest"
)

// TestRefusedCertificate uses hosts that do not trust the authority. If no tried host trusts it, the run is refused
// before it begins. Otherwise each host without this trust reports what is missing there.
func TestRefusedCertificate(t *testing.T) {
	for _, test := range []struct {
		name      string
		strangers []string
		certify   error
		err       []string // error in place of a run; none means a run
	}{
		{name: "all", strangers: []string{"web1", "web2", "db1"}, err: []string{
			"--workers: no host accepts workers: ", "web1", "web2", "db1", " refused certificates of the authority SHA256:",
			"hint: TrustedUserCAKeys in sshd_config must name a file with this key", "ssh-ed25519 AAAA",
		}},
		{name: "some", strangers: []string{"web1", "db1"}},
		{name: "the authority refuses", certify: errors.New("not today"), err: []string{"--workers: certifying the key of a worker: not today"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newSite(t, "ccm: {resources: [exec: [{\"true\": }]]}\n", "web1", "web2", "db1")
			s.strangers = map[string]bool{}
			for _, host := range test.strangers {
				s.strangers[host] = true
			}
			q := queuetest.New(0)
			s.work(q, "worker", "")
			s.work(q, "worker", "far")
			got := &recorded{}
			r := s.runner(s.inventory(map[string]string{"db1": "site: far,"}), got)
			c, _ := s.coordinator(q, r)
			if test.certify != nil {
				c.Certify = func(context.Context, Certificate) ([]byte, time.Duration, error) {
					return nil, 0, test.certify
				}
			}
			if test.err == nil {
				summary := s.run(c)
				require.Equal(t, 1, summary.Totals.Hosts.OK)
				require.Equal(t, len(test.strangers), summary.Totals.Hosts.Unreachable)
				lines := strings.Join(got.lines(s), "\n")
				require.Equal(t, len(test.strangers), strings.Count(lines, `"hint":"if the host does not trust the authority SHA256:`), lines)
				require.Contains(t, lines, "TrustedUserCAKeys")
				return
			}
			ctx, cancel := context.WithTimeout(t.Context(), wait)
			defer cancel()
			require.NoError(t, c.Begin(ctx))
			_, err := r.Run(ctx, nil)
			require.NoError(t, c.Close(ctx))
			for _, text := range test.err {
				require.ErrorContains(t, err, text)
			}
			require.Empty(t, got.list, "nothing has begun")
		})
	}
}

// TestSiteWithoutWorkers has a site whose hosts no worker takes hold up no other one.
func TestSiteWithoutWorkers(t *testing.T) {
	s := newSite(t, "ccm: {resources: [exec: [{\"true\": }]]}\n", "web1", "db1")
	q := queuetest.New(0)
	s.work(q, "worker", "")
	stop := make(chan struct{})
	got := &recorded{hook: func(e events.Event) {
		if _, is := e.(events.HostDone); is {
			close(stop)
		}
	}}
	r := s.runner(s.inventory(map[string]string{"db1": "site: far,"}), got)
	c, _ := s.coordinator(q, r)
	ctx, cancel := context.WithTimeout(t.Context(), wait)
	defer cancel()
	require.NoError(t, c.Begin(ctx))
	summary, err := r.Run(ctx, stop)
	require.NoError(t, errors.Join(err, c.Close(ctx)))
	require.Equal(t, 1, summary.Totals.Hosts.OK)
	require.Equal(t, []string{"db1"}, summary.NotStarted)
}

// TestHostsThatDoNotKnowSites has hosts that accept certificates by account, as they were set up before there were
// sites: the run works, with one warning that names the play to run.
func TestHostsThatDoNotKnowSites(t *testing.T) {
	s := newSite(t, "ccm: {resources: [exec: [{\"true\": }]]}\n", "web1", "web2")
	s.old = true
	var sources []netip.Prefix
	q := queuetest.New(0)
	s.work(q, "worker", "paris", func(w *Worker) { w.Addresses = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")} })
	c, warned := s.coordinator(q, s.runner(s.inventory(map[string]string{"web1": "site: paris,", "web2": "site: paris,"})))
	certify := c.Certify
	var asked [][]string
	c.Certify = func(ctx context.Context, of Certificate) ([]byte, time.Duration, error) {
		asked = append(asked, of.Principals)
		sources = of.Sources
		return certify(ctx, of)
	}
	summary := s.run(c)
	require.Equal(t, 2, summary.Totals.Hosts.OK, warned.all())
	require.Regexp(t, `^hosts of site "paris" accept workers of any site: the host web\d has no AuthorizedPrincipalsFile with the site\n  hint: run the play authority.yaml without workers \(--workers ''\); ccm-push new authority DIR writes it$`, warned.all())
	me := s.hosts["web1"].User
	require.Equal(t, [][]string{{me + "@paris"}, {me, me + "@paris"}}, asked)
	require.Equal(t, []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}, sources)
}

// TestWorkerElsewhere has the certificate of a worker be bound to another address than it comes from.
func TestWorkerElsewhere(t *testing.T) {
	s := newSite(t, "ccm: {resources: [exec: [{\"true\": }]]}\n", "web1")
	q := queuetest.New(0)
	s.work(q, "worker", "", func(w *Worker) { w.Addresses = []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")} })
	c, _ := s.coordinator(q, s.runner(s.inventory(nil)))
	require.NoError(t, c.Begin(t.Context()))
	_, err := c.Runner.Run(t.Context(), nil)
	require.NoError(t, c.Close(t.Context()))
	require.ErrorContains(t, err, "no host accepts workers: web1 refused certificates")
}
