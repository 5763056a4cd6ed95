package tlscert

import (
	"context"
	"time"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/file"
)

// Subject implements [modules.Reverser].
func (c *TLSCert) Subject() string { return c.Name }

// Reversal implements [modules.Reverser]: the current file.
func (c *TLSCert) Reversal(ctx context.Context, h modules.Host, kept modules.Resource) (map[string]any, error) {
	var was *file.File
	if before, ok := kept.(*TLSCert); ok {
		was = before.Was
	}
	return c.output().Reversal(ctx, h, was)
}

// Watch implements [modules.Watcher]: files cause events, but the remaining validity does not.
func (c *TLSCert) Watch(ctx context.Context, h modules.Host) (modules.Sources, error) {
	from, err := c.output().Watch(ctx, h)
	if err != nil || c.Ensure == absent || c.Was != nil {
		return from, err
	}
	for _, path := range []string{c.Key, c.CSR, c.CACert, c.CAKey} {
		if path != "" {
			from.Paths = append(from.Paths, path)
		}
	}
	if c.Ensure != request {
		from.Polled = "how long it is valid"
	}
	return from, nil
}

type state struct {
	Name      string    `json:"name"`
	Subject   string    `json:"subject,omitempty"`
	Names     string    `json:"names,omitempty"`
	Usage     string    `json:"usage,omitempty"`
	Issuer    string    `json:"issuer,omitempty"`
	Serial    string    `json:"serial,omitempty"`
	Begins    time.Time `json:"begins,omitzero"`
	Expires   time.Time `json:"expires,omitzero"`
	PublicKey string    `json:"public_key,omitempty"` // SHA-256, equal to the public_key of its tls_key
}

// Describe implements [modules.Describer].
func (c *TLSCert) Describe(_ context.Context, h modules.Host) (modules.Description, error) {
	d := modules.Description{Ensure: absent, Provider: "go"}
	at, is, file, err := look(h, c.Name)
	if err != nil {
		return d, err
	}
	s := state{Name: c.Name}
	if at.Kind != modules.Absent {
		d.Ensure = present
		if is.request {
			d.Ensure = request
		}
		s = state{Name: c.Name, Subject: is.subject, Names: is.names, Usage: is.usage, Begins: is.begins, Expires: is.ends, PublicKey: is.key}
	}
	if cert := file.cert; cert != nil {
		if s.Issuer, err = rawSubject(cert.RawIssuer); err != nil {
			return d, err
		}
		s.Serial = cert.SerialNumber.Text(16)
	}
	d.State = s
	return d, nil
}
