package workers

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/ccm-push/ccm-push/playbooks"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/transport/usercert"
)

// sampled is how many hosts of a site are asked, at most, whether they let workers in.
const sampled = 3

// Enter implements [playbooks.Workers]. Of each site one host is asked, and others if that one does not let
// the worker in. The first that does settles it, so a site without workers holds up no other one, unless the run is to begin only if all
// sites have workers ([Coordinator.WaitWorkers]).
func (c *Coordinator) Enter(ctx context.Context, stop <-chan struct{}, turns []playbooks.Turn) error {
	samples := map[string][]playbooks.Turn{}
	bySite := map[string][]string{}
	for _, t := range turns {
		site := c.site(t.Host)
		bySite[site] = append(bySite[site], t.Host)
		if len(samples[site]) == sampled {
			continue
		}
		if _, err := c.siteOf(t.Host); err == nil { // else the host fails, and says why
			samples[site] = append(samples[site], t)
		}
	}
	c.mu.Lock()
	c.entering = bySite
	c.mu.Unlock()
	defer c.takeBackLogins()
	type login struct {
		turn playbooks.Turn
		end  playbooks.TurnEnd
	}
	ends := make(chan login, 2*sampled*len(samples)) // each host is tried twice at most
	asked := 0
	try := func(t playbooks.Turn) {
		asked++
		ended := make(chan playbooks.TurnEnd, 1)
		c.answering.Go(func() { ends <- login{t, <-ended} }) // takeBackLogins ends the remaining ones
		c.gather(ctx, &turn{t, playbooks.NoQuestions{Host: t.Host}, ended})
	}
	ask := func(site string) {
		if left := samples[site]; len(left) > 0 {
			samples[site] = left[1:]
			try(left[0])
		}
	}
	for site := range samples {
		ask(site)
	}
	var late <-chan time.Time
	if c.WaitWorkers > 0 {
		late = time.After(c.WaitWorkers)
	}
	var refused []string
	entered := false
	for asked > 0 {
		select {
		case one := <-ends:
			asked--
			end, host := one.end, one.turn.Host
			site := c.site(host)
			if end.Failure == nil { // it lets us in, or the run ends
				c.warnIfUnbound(site, host)
				if entered = true; c.WaitWorkers == 0 {
					return nil
				}
				continue
			}
			if _, err := c.certifies(); err != nil {
				return fmt.Errorf("--workers: %w", err)
			}
			if err := c.cannotBePacked(); err != nil {
				return fmt.Errorf("--workers: %w", err)
			}
			if end.Refused && c.unbind(site, host) {
				try(one.turn)
				continue
			}
			if end.Refused {
				refused = append(refused, host)
			}
			ask(site)
		case <-late:
			if err := c.missingWorkers(ctx); err != nil {
				return err
			}
			if entered {
				return nil
			}
		case <-stop:
			return nil
		case <-ctx.Done():
			return nil
		case <-c.gone:
			return nil
		case <-c.lost:
			return nil
		}
	}
	if entered || len(refused) == 0 { // they are down: the run reports it
		return nil
	}
	authority, err := c.certifies()
	if err != nil {
		return err
	}
	return fmt.Errorf("--workers: no host accepts workers: %s refused certificates of the authority %s\n"+
		"  hint: TrustedUserCAKeys in sshd_config must name a file with this key; run the play authority.yaml without workers (--workers ''); ccm-push new authority DIR writes it\n  %s",
		strings.Join(refused, ", "), ssh.FingerprintSHA256(authority), strings.TrimSpace(string(ssh.MarshalAuthorizedKey(authority))))
}

// unbind notes that a host has refused a certificate that is for its site alone, and reports whether to try it as a host that
// does not know sites. A host that refuses that, too, refuses the authority.
func (c *Coordinator) unbind(site, host string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.unbound[site] == host || usercert.Principal("", site) == "" {
		delete(c.unbound, site)
		return false
	}
	if c.unbound == nil {
		c.unbound = map[string]string{}
	}
	c.unbound[site] = host
	return true
}

// warnIfUnbound warns of a site whose hosts let workers of all sites in, as one of them has shown.
func (c *Coordinator) warnIfUnbound(site, host string) {
	c.mu.Lock()
	is := c.unbound[site] == host
	c.mu.Unlock()
	if is {
		c.Warn(fmt.Sprintf("%s accept workers of any site: %s has no AuthorizedPrincipalsFile with the site\n  hint: run the play authority.yaml without workers (--workers ''); ccm-push new authority DIR writes it", hostsOf(site), host))
	}
}

// missingWorkers reports the sites of which no worker has taken a host.
func (c *Coordinator) missingWorkers(ctx context.Context) error {
	waiting := map[string][]string{}
	c.mu.Lock()
	for site := range c.waiting {
		waiting[site] = c.entering[site]
	}
	for _, s := range c.shards {
		if s.taken == 0 {
			waiting[s.site] = c.entering[s.site]
		}
	}
	c.mu.Unlock()
	if len(waiting) == 0 {
		return nil
	}
	var parts []string
	seen, hint := "", ""
	for _, site := range slices.Sorted(maps.Keys(waiting)) {
		parts = append(parts, fmt.Sprintf("%s (%s)", hostsOf(site), named(slices.Sorted(slices.Values(waiting[site])))))
		if hint == "" {
			seen, hint = c.lookForWorkers(ctx, site)
		}
	}
	return fmt.Errorf("--wait-workers: no worker has taken %s within %v%s; nothing was changed\n  hint: %s", strings.Join(parts, ", "), c.WaitWorkers, seen, hint)
}

// takeBackLogins takes back the logins that have not ended. One that a worker is at is not handed out again: nobody waits for it.
func (c *Coordinator) takeBackLogins() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.entering = nil
	for site, g := range c.waiting { // there are no other turns yet
		g.timer.Stop()
		for _, t := range g.turns {
			t.ended <- stopped(t.Turn)
		}
		delete(c.waiting, site)
	}
	for _, s := range c.shards {
		c.endAll(s, stopped)
	}
}

// signerOf is the authority that has signed a certificate.
func signerOf(certificate []byte) (ssh.PublicKey, error) {
	key, _, _, _, err := ssh.ParseAuthorizedKey(certificate)
	if err != nil {
		return nil, err
	}
	cert, is := key.(*ssh.Certificate)
	if !is {
		return nil, errors.New("the authority returned a key that is not a certificate")
	}
	return cert.SignatureKey, nil
}

// hasCertified reports whether the authority has ever certified a key.
func (c *Coordinator) hasCertified() bool {
	authority, _ := c.certifies()
	return authority != nil
}

// certifies is the authority, or why it has certified nothing.
func (c *Coordinator) certifies() (ssh.PublicKey, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.authority, c.uncertified
}

// refused is the failure of a host that has refused the certificate which an authority has given its worker, with what is to be done:
// who was refused knows of nothing but that.
func refused(failure *events.Carried, authority ssh.PublicKey) *events.Carried {
	if u, is := failure.Event.(events.Unreachable); is && authority != nil {
		u.Hint = fmt.Sprintf("it does not trust the authority %s, or not for this account and site, or the certificate has expired (--cert-validity): run authority.yaml for it without workers (--workers ''), or check TrustedUserCAKeys and AuthorizedPrincipalsFile in its sshd_config",
			ssh.FingerprintSHA256(authority))
		return &events.Carried{Event: u}
	}
	return failure
}
