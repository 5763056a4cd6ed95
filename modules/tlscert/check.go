package tlscert

import (
	"cmp"
	"context"
	"crypto"
	"crypto/x509"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/pki"
)

// certEffect is the kind of effect whose key is a path and whose state is the [content] that will be there.
const certEffect modules.EffectKind = "tls_cert"

// An authority signs certificates.
type authority struct {
	said   content
	cert   *x509.Certificate // nil if it is only predicted
	signer crypto.Signer     // nil if it is only predicted
}

// signed reports whether it has signed a certificate, under the name that it has.
func (by *authority) signed(cert *x509.Certificate) bool {
	if by.signer == nil { // it has signed nothing yet
		return false
	}
	issuer, err := rawSubject(cert.RawIssuer)
	key := &x509.Certificate{PublicKey: by.signer.Public()}
	return err == nil && issuer == by.said.subject && key.CheckSignature(cert.SignatureAlgorithm, cert.RawTBSCertificate, cert.Signature) == nil
}

// authority returns the signing authority; nil if the certificate is self-signed.
func (c *TLSCert) authority(h modules.Host) (*authority, error) {
	if c.CACert == "" || c.Ensure == request {
		return nil, nil
	}
	at, said, file, err := look(h, c.CACert)
	if err != nil {
		return nil, err
	}
	cert := file.cert
	switch {
	case at.Kind == modules.Absent:
		return nil, modules.Refuse("the certificate of the authority, %s, is not there", c.CACert)
	case said.request:
		return nil, modules.Refuse("%s is a certificate request, not the certificate of an authority", c.CACert)
	case cert != nil && !(cert.IsCA && cert.BasicConstraintsValid):
		return nil, modules.Refuse("%s may not sign other certificates (its usage is %s)", c.CACert, said.usage)
	}
	key, signer, is, err := pki.LookKey(h, c.CAKey)
	switch {
	case err != nil:
		return nil, err
	case key.Kind == modules.Absent:
		return nil, modules.Refuse("the private key of the authority, %s, is not there", c.CAKey)
	case is.ID != said.key:
		return nil, modules.Refuse("%s is not the private key of %s", c.CAKey, c.CACert)
	}
	return &authority{said, cert, signer}, nil
}

// mayOutlive refuses to sign a certificate that would be valid for longer than the authority.
func (by *authority) mayOutlive(c *TLSCert) error {
	left := time.Until(by.said.ends)
	if left < time.Duration(c.days())*day {
		return modules.Refuse(`the authority %s expires on %s, before a certificate with 'days: %d' would (renew the authority, or write a smaller number for "days")`, c.CACert, by.said.ends.UTC().Format(time.DateOnly), c.days())
	}
	return nil
}

// look reads the content of a file.
func look(h modules.Host, path string) (pki.Found, content, parsed, error) {
	at, err := pki.Look(h, path, certEffect)
	if err != nil || at.Kind == modules.Absent {
		return at, content{}, parsed{}, err
	}
	if at.Predicted != nil {
		return at, at.Predicted.(content), parsed{}, nil
	}
	said, is, err := parse(at.Text, path)
	if errors.Is(err, errNothing) {
		err = modules.Refuse("%s holds %w; nothing is overwritten", path, err)
	}
	return at, said, is, err
}

// wantedOn returns the desired content of the certificate or the request on a host, with its key; like is the request
// with that content, if it exists.
func (c *TLSCert) wantedOn(h modules.Host) (want content, like *x509.CertificateRequest, err error) {
	want = c.wanted()
	if c.CSR == "" && want.subject == "" && want.names == "" {
		return want, nil, modules.Refuse("names and subject are both empty on this host")
	}
	if c.CSR != "" {
		at, said, is, err := look(h, c.CSR)
		switch {
		case err != nil:
			return want, nil, err
		case at.Kind == modules.Absent:
			return want, nil, modules.Refuse("the request %s is not there", c.CSR)
		case !said.request:
			return want, nil, modules.Refuse("%s is a certificate, not a certificate request", c.CSR)
		case said.key == forged:
			return want, nil, modules.Refuse("the request %s is not signed with its key", c.CSR)
		}
		for _, usage := range said.usages() {
			if _, id := extended(usage); id == nil && usage != "ca" {
				return want, nil, modules.Refuse("the request %s contains the usage %s, which is not supported", c.CSR, usage)
			}
		}
		want = said
		want.request, like = false, is.request
	}
	if c.Key == "" {
		return want, like, nil
	}
	at, _, key, err := pki.LookKey(h, c.Key)
	switch {
	case err != nil:
	case at.Kind == modules.Absent:
		err = modules.Refuse("the private key %s does not exist (make it with a tls_key resource before this one)", c.Key)
	case c.CSR != "" && want.key != key.ID:
		err = modules.Refuse("%s is not the private key of the request %s", c.Key, c.CSR)
	}
	want.key = key.ID
	return want, like, err
}

// Check implements [modules.Resource].
func (c *TLSCert) Check(ctx context.Context, h modules.Host) (modules.Plan, error) {
	o := c.output()
	if o.Settled() {
		return o.CheckSettled(ctx, h)
	}
	want, _, err := c.wantedOn(h)
	if err != nil {
		return modules.Plan{}, err
	}
	by, err := c.authority(h)
	if err != nil {
		return modules.Plan{}, err
	}
	at, is, file, err := look(h, c.Name)
	if err != nil {
		return modules.Plan{}, err
	}
	var changes []modules.Change
	if at.Kind == modules.Absent {
		changes = []modules.Change{{Property: "ensure", Have: absent, Want: c.Ensure}}
	} else {
		changes = c.differences(is, want, file.cert, by)
	}
	what := map[bool]string{true: "request", false: "certificate"}[want.request]
	action, will := "renewed the "+what, is
	if at.Kind == modules.Absent {
		action = "made a " + what
	}
	if len(changes) > 0 {
		if by != nil {
			if err := by.mayOutlive(c); err != nil {
				return modules.Plan{}, err
			}
		}
		will = want
		if !want.request {
			will.begins = time.Now().UTC().Truncate(time.Second)
			will.ends = will.begins.Add(time.Duration(c.days()) * day)
			will.issuer = by.issuer()
		}
	}
	return o.Check(ctx, h, at, action, changes, modules.Effect{Kind: certEffect, Key: c.Name, State: will})
}

// issuer names the signer; without an authority, a certificate is self-signed.
func (by *authority) issuer() string {
	if by == nil {
		return selfSigned
	}
	return by.said.key
}

// differences are the differences of a certificate or a request from the desired content.
func (c *TLSCert) differences(is, want content, cert *x509.Certificate, by *authority) (changes []modules.Change) {
	differ := func(property, have, want string) {
		if have != want {
			changes = append(changes, modules.Change{Property: property, Have: cmp.Or(have, "none"), Want: cmp.Or(want, "none")})
		}
	}
	if is.request != want.request {
		words := map[bool]string{true: request, false: present}
		return []modules.Change{{Property: "ensure", Have: words[is.request], Want: words[want.request]}}
	}
	if is.key != want.key {
		differ("key", "another", cmp.Or(c.Key, "the key of "+c.CSR))
	}
	differ("subject", is.subject, want.subject)
	differ("names", is.names, want.names)
	differ("usage", is.usage, want.usage)
	if want.request {
		return changes
	}
	if have := is.signedBy(cert, by); have != by.issuer() {
		if have != selfSigned {
			have = "another authority"
		}
		differ("issuer", have, cmp.Or(c.CACert, selfSigned))
	}
	days := int(math.Round(float64(is.ends.Sub(is.begins)) / float64(day)))
	differ("days", strconv.Itoa(days), strconv.Itoa(c.days()))
	stamp := func(t time.Time) string { return t.UTC().Format(time.RFC3339) }
	switch now := time.Now(); {
	case is.ends.Sub(now) < time.Duration(c.renew())*day:
		differ("expires", stamp(is.ends), fmt.Sprintf("in %d days or later", c.renew()))
	case is.begins.After(now.Add(skew)):
		differ("begins", stamp(is.begins), "by now")
	}
	return changes
}

// skew is the allowed clock difference between two hosts that use the key of one authority.
const skew = 5 * time.Minute

// signedBy names the signer, with all that is known: the key of the authority, if that has signed it.
func (is content) signedBy(cert *x509.Certificate, by *authority) string {
	if by != nil && cert != nil && by.signed(cert) {
		return by.said.key
	}
	return is.issuer
}

// Apply implements [modules.Resource].
func (c *TLSCert) Apply(ctx context.Context, h modules.Host, p modules.Plan) error {
	return c.output().Apply(ctx, h, p, func() ([]byte, error) {
		var signer crypto.Signer
		_, like, err := c.wantedOn(h)
		if err == nil && c.Key != "" {
			_, signer, _, err = pki.LookKey(h, c.Key)
		}
		switch {
		case err != nil:
			return nil, err
		case c.Ensure == request:
			return c.request(time.Now(), signer)
		}
		by, err := c.authority(h)
		if err != nil {
			return nil, err
		}
		return c.certificate(time.Now(), signer, like, by)
	})
}
