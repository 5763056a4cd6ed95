package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/ccm-push/ccm-push/playbooks"
	"github.com/ccm-push/ccm-push/playbooks/natsconn"
	"github.com/ccm-push/ccm-push/playbooks/natsdata"
	"github.com/ccm-push/ccm-push/playbooks/registry"
)

// natsFlags say how NATS is reached. Nothing is dialled unless something is read from there.
type natsFlags struct {
	app     *app
	workers *workersFlags
	given   natsconn.Config
	link    *natsconn.Link // nil until something asks for it
	kept    *natsdata.Store

	registration string // the stream with registrations; "" registers nothing
	destination  string // of what is registered
}

const (
	natsFlag         = "nats"
	registrationFlag = "registration"
	destinationFlag  = "registration-destination"
)

// destinations are where services are registered, in the words of CCM's agent.
var destinations = []string{toStream, toListeners}

const (
	toStream    = "jetstream"
	toListeners = "nats"
)

func (f *natsFlags) register(set *pflag.FlagSet) {
	g := &f.given
	set.StringVar(&g.Servers, natsFlag, "", "NATS `URL`, tls:// or nats://; several with commas (default $NATS_URL)")
	set.StringVar(&g.Context, "nats-context", "", "`name` of a context of the nats command (default $NATS_CONTEXT; without a URL, the context CCM if it exists)")
	set.StringVar(&g.Creds, "nats-creds", "", "`file` with credentials for NATS (default $NATS_CREDS)")
	set.StringVar(&g.NKey, "nats-nkey", "", "`file` with the secret key (seed of an nkey) of your user at the NATS server (default $NATS_NKEY)")
	set.StringVar(&g.CA, "nats-ca", "", "PEM `file` with the CA of NATS, instead of the system's (default $NATS_CA)")
	set.StringVar(&g.Cert, "nats-cert", "", "PEM `file` with the client certificate for NATS (default $NATS_CERT)")
	set.StringVar(&g.Key, "nats-key", "", "PEM `file` with the key of the client certificate (default $NATS_KEY)")
	set.StringVar(&f.registration, registrationFlag, registry.Stream, "NATS `stream` of service registrations; '' disables registration")
	set.StringVar(&f.destination, destinationFlag, toStream, "destination of registrations: jetstream (stored in the stream, acknowledged) or nats (sent to subscribers, not stored)")
}

func (f *natsFlags) validate() error {
	if !slices.Contains(destinations, f.destination) {
		return fmt.Errorf("--%s %q: use one of %s", destinationFlag, f.destination, strings.Join(destinations, " and "))
	}
	return nil
}

// connection is the connection to NATS that a run shares. What flags say wins over the environment:
// that may be about another server, so a URL or a context that is given leaves out both of its. Where
// nothing says where NATS is, it is where workers take hosts from.
func (f *natsFlags) connection() *natsconn.Link {
	if f.link != nil {
		return f.link
	}
	c := f.config(f.given, natsFlag)
	if !saysWhere(c) && f.workers.url != "" {
		f.link = f.workers.connection()
	} else {
		f.link = natsconn.New(c)
	}
	return f.link
}

// saysWhere reports whether it is said where NATS is.
func saysWhere(c natsconn.Config) bool { return c.Servers != "" || c.Context != "" }

// config completes what flags say with what the environment says; flag names the one with the URL.
func (f *natsFlags) config(c natsconn.Config, flag string) natsconn.Config {
	getenv := f.app.getenv
	if strings.Contains(c.Servers, "@") {
		f.app.warnOnce("--" + flag + ": other users of this machine can read the password on the command line; $NATS_URL, a context and files of credentials are not seen")
	}
	c.Name, c.Warn = "ccm-push", f.app.warnOnce
	c.Contexts = filepath.Join(cmp.Or(getenv("XDG_CONFIG_HOME"), filepath.Join(f.app.home(), ".config")), "nats", "context")
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

// store is what CCM keeps in NATS, the same for all that asks.
func (f *natsFlags) store() *natsdata.Store {
	if f.kept == nil {
		f.kept = &natsdata.Store{Link: f.connection()}
	}
	return f.kept
}

// known reports whether there is a NATS to read from.
func (f *natsFlags) known() bool {
	return saysWhere(f.config(f.given, natsFlag)) || f.workers.url != ""
}

// services are those that are registered; without a value nothing is.
func (f *natsFlags) services() playbooks.Registry {
	switch {
	case f.registration == "" || !f.known():
		return nil
	case f.destination == toListeners:
		return natsdata.Announcements{Link: f.connection()}
	}
	return natsdata.Registry{Store: f.store(), Stream: f.registration}
}

// lookups are what functions of templates ask for; without a value they are refused.
func (f *natsFlags) lookups() playbooks.Lookups {
	if !f.known() {
		return nil
	}
	return natsdata.Registry{Store: f.store(), Stream: f.registration}
}

// unregistered says why what is to be registered is not; "" if it is.
func (f *natsFlags) unregistered() string {
	const checked = "register_when_stable is checked, and then ignored: "
	switch {
	case f.registration == "":
		return checked + "--" + registrationFlag + " is empty"
	case !f.known():
		return checked + "no NATS is given, as with --" + natsFlag
	}
	return ""
}

// close ends the connection, if there is one.
func (f *natsFlags) close() {
	if f.link != nil {
		f.link.Close()
	}
}
