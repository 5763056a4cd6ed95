package links

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"

	"github.com/ccm-push/ccm-push/cmd/ccm-push/app"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/flags"
	"github.com/ccm-push/ccm-push/playbooks"
	"github.com/ccm-push/ccm-push/playbooks/natsconn"
	"github.com/ccm-push/ccm-push/playbooks/natsdata"
)

// A NATS reaches NATS. It connects when data is first read from there.
type NATS struct {
	App     *app.App
	Flags   *flags.All
	Workers *Workers
	link    *natsconn.Link // nil until it is needed
	kept    *natsdata.Store
}

// connection returns the connection to NATS that a run shares. Flags override the environment, which may name another
// server: a URL or context in flags discards both of the environment. If neither names a server, it is the connection
// to the workers.
func (f *NATS) connection() *natsconn.Link {
	if f.link != nil {
		return f.link
	}
	c := Config(f.Flags.NATS.Config, flags.NATSFlag, f.App)
	if !saysWhere(c) && f.Flags.Workers.URL != "" {
		f.link = f.Workers.Connection()
	} else {
		f.link = natsconn.New(c)
	}
	return f.link
}

// saysWhere reports whether c names a NATS server.
func saysWhere(c natsconn.Config) bool { return c.Servers != "" || c.Context != "" }

// Config adds the values of the environment to the values of flags; flag is the name of the flag with the URL.
func Config(c natsconn.Config, flag string, a *app.App) natsconn.Config {
	getenv := a.Getenv
	if strings.Contains(c.Servers, "@") {
		a.WarnOnce("--" + flag + ": other users of this machine can read the password on the command line; use $NATS_URL, a context or a file of credentials instead")
	}
	c.Name, c.Warn = "ccm-push", a.WarnOnce
	c.Contexts = filepath.Join(app.Configurations(getenv), "nats", "context")
	if c.Servers == "" && c.Context == "" {
		c.Servers, c.Context = getenv("NATS_URL"), getenv("NATS_CONTEXT")
	}
	if c.Servers == "" && c.Context == "" {
		const ofCCM = "CCM"
		if _, err := os.Stat(filepath.Join(c.Contexts, ofCCM+".json")); err == nil {
			c.Context = ofCCM
		}
	}
	if c.Creds == "" && c.NKey == "" {
		c.Creds, c.NKey = getenv("NATS_CREDS"), getenv("NATS_NKEY")
	}
	c.CA = cmp.Or(c.CA, getenv("NATS_CA"))
	if c.Cert == "" && c.Key == "" {
		c.Cert, c.Key = getenv("NATS_CERT"), getenv("NATS_KEY")
	}
	return c
}

// Store returns the data of CCM in NATS, always the same store.
func (f *NATS) Store() *natsdata.Store {
	if f.kept == nil {
		f.kept = &natsdata.Store{Link: f.connection()}
	}
	return f.kept
}

// known reports whether there is a NATS to read from.
func (f *NATS) known() bool {
	return saysWhere(Config(f.Flags.NATS.Config, flags.NATSFlag, f.App)) || f.Flags.Workers.URL != ""
}

// Services returns the registry to which services are registered; nil without a stream or a server.
func (f *NATS) Services() playbooks.Registry {
	switch {
	case f.Flags.NATS.Registration == "" || !f.known():
		return nil
	case f.Flags.NATS.Destination == flags.ToListeners:
		return natsdata.Announcements{Link: f.connection()}
	}
	return natsdata.Registry{Store: f.Store(), Stream: f.Flags.NATS.Registration}
}

// Lookups returns the source for functions of templates; nil without a server, then they are refused.
func (f *NATS) Lookups() playbooks.Lookups {
	if !f.known() {
		return nil
	}
	return natsdata.Registry{Store: f.Store(), Stream: f.Flags.NATS.Registration}
}

// Unregistered returns why services are not registered; empty if they are.
func (f *NATS) Unregistered() string {
	const checked = "register_when_stable is checked, and then ignored: "
	switch {
	case f.Flags.NATS.Registration == "":
		return checked + "--" + flags.RegistrationFlag + " is empty"
	case !f.known():
		return checked + "no NATS is given, as with --" + flags.NATSFlag
	}
	return ""
}

// Close ends the connection, if there is one.
func (f *NATS) Close() {
	if f.link != nil {
		f.link.Close()
	}
}
