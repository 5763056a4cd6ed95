package flags

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/ccm-push/ccm-push/playbooks/natsconn"
	"github.com/ccm-push/ccm-push/playbooks/registry"
)

const (
	NATSFlag         = "nats"
	RegistrationFlag = "registration"
	DestinationFlag  = "registration-destination"
)

// Destinations lists the destinations of registrations, in the words of CCM's agent.
var Destinations = []string{toStream, ToListeners}

const (
	toStream    = "jetstream"
	ToListeners = "nats"
)

// NATS holds the flags about NATS, and about registrations there.
type NATS struct {
	Config       natsconn.Config
	Registration string // the stream of registrations; empty registers nothing
	Destination  string // address for registrations
}

func (f *NATS) register(set *pflag.FlagSet) {
	g := &f.Config
	set.StringVar(&g.Servers, NATSFlag, "", "NATS `URL`, tls:// or nats://; several with commas (default $NATS_URL)")
	set.StringVar(&g.Context, "nats-context", "", "`name` of a context of the command line program nats (default $NATS_CONTEXT; without it and without --nats, the context CCM if there is one)")
	set.StringVar(&g.Creds, "nats-creds", "", "`file` with credentials for NATS (default $NATS_CREDS)")
	set.StringVar(&g.NKey, "nats-nkey", "", "`file` with the secret key (seed of an nkey) of your user at the NATS server (default $NATS_NKEY)")
	set.StringVar(&g.CA, "nats-ca", "", "PEM `file` with the CA certificates for the NATS server, instead of the CAs of the system (default $NATS_CA)")
	set.StringVar(&g.Cert, "nats-cert", "", "PEM `file` with the client certificate for NATS (default $NATS_CERT)")
	set.StringVar(&g.Key, "nats-key", "", "PEM `file` with the key of the client certificate (default $NATS_KEY)")
	set.StringVar(&f.Registration, RegistrationFlag, registry.Stream, "NATS `stream` of service registrations; '' disables registration")
	set.StringVar(&f.Destination, DestinationFlag, toStream, "destination of registrations: jetstream (stored in the stream, acknowledged) or nats (sent to subscribers, not stored)")
}

func (f *NATS) validate() error {
	if !slices.Contains(Destinations, f.Destination) {
		return fmt.Errorf("--%s %q: use one of %s", DestinationFlag, f.Destination, strings.Join(Destinations, " and "))
	}
	return nil
}

const (
	WorkersFlag = "workers"
	// workersVariable is the environment variable that replaces a missing --workers.
	workersVariable = "CCM_PUSH_WORKERS"
)

const (
	defaultValidity  = 10 * time.Minute
	shortestValidity = time.Minute
)

// Workers holds the flags about workers, which run hosts for this machine.
type Workers struct {
	URL       string // URL of the queue; empty runs all hosts from this machine
	Key       string // private key file of this machine
	List      string // file with the keys of workers
	Operators string // file with the public keys of machines that may resume runs; empty means the default
	Validity  time.Duration
	Size      int
	Wait      time.Duration // limit of the wait for workers before the run begins; 0 means no limit
}

func (f *Workers) register(set *pflag.FlagSet) {
	set.StringVar(&f.URL, WorkersFlag, "", "NATS `URL`, tls:// or nats://, through which this machine sends work to its workers (default $CCM_PUSH_WORKERS); '' runs all hosts from this machine")
	set.StringVar(&f.Key, "workers-key", "", "private key `file` of this machine (default ~/.config/ccm-push/coordinator.key)")
	set.StringVar(&f.List, "workers-list", "", "`file` with the public keys of workers that may get hosts (default ~/.config/ccm-push/workers.keys)")
	set.StringVar(&f.Operators, "workers-operators", "", "`file` with the public keys of other machines that may follow and resume runs (default ~/.config/ccm-push/operators.keys, if it exists)")
	f.Validity = defaultValidity
	set.Var(Seconds{&f.Validity}, "cert-validity", "how long the certificates are valid with which workers log in, at least 1m; ccm-push renews them (default 10m; if --deadline host is less than 9m, this time limit plus 1m)")
	set.Var(Seconds{&f.Wait}, "wait-workers", "how long the run waits at its start until each site has a worker, such as 2m; if a site still has no worker, the run changes nothing and ends with status 1")
	set.IntVar(&f.Size, "shard", 0, "maximum number of hosts that a worker takes as one group (default: 1/16 of the hosts of a play at a site, at least 32 and at most 256)")
}

func (f *Workers) validate(given func(string) bool, getenv func(string) string) error {
	if !given(WorkersFlag) {
		f.URL = getenv(workersVariable)
	}
	switch {
	case f.Validity < shortestValidity:
		return fmt.Errorf("--cert-validity %v: at least %v", f.Validity, shortestValidity)
	case f.Wait <= 0 && given("wait-workers"):
		return fmt.Errorf("--wait-workers %v: write a time, such as 2m", f.Wait)
	case f.Size < 1 && given("shard"):
		return fmt.Errorf("--shard %d: at least 1", f.Size)
	case f.URL == "":
		for _, name := range []string{"workers-key", "workers-list", "workers-operators", "cert-validity", "wait-workers", "shard"} {
			if given(name) {
				return fmt.Errorf("--%s needs --workers URL", name)
			}
		}
	}
	return nil
}
