package render

import (
	"context"
	"encoding/json"
	"net"
	"strconv"
	"strings"

	"github.com/ccm-push/ccm-push/templates/diag"
)

// A NATS reads values from NATS. All hosts of a play receive the same ones. The values were written by others: they are
// trusted no more than facts.
type NATS interface {
	// Value returns the value of a key in a bucket.
	Value(ctx context.Context, bucket, key string) ([]byte, error)
	// Registrations are the services that are registered, as maps with the keys of CCM: Cluster, Service,
	// Protocol, Address, Port, Priority, TTL and Annotations. "*" is any.
	Registrations(ctx context.Context, cluster, protocol, service, address string) ([]any, error)
}

// Functions that query NATS.
const (
	KVGetFunction         = "kvGet"
	RegistrationsFunction = "registrations"
)

// AsksNATS reports whether a function queries NATS, and how many arguments it takes.
func AsksNATS(function string) (args int, asks bool) {
	switch function {
	case KVGetFunction:
		return 2, true
	case RegistrationsFunction:
		return 4, true
	}
	return 0, false
}

// A NATSCall is a NATS query in a text.
type NATSCall struct {
	Function string
	At       diag.Position
}

// NoNATS returns the error for a function that queries NATS without a configured server.
func NoNATS(function string) *diag.Fault {
	return diag.Faultf("the function %q reads from NATS, but no NATS server is given", function).
		WithHint("pass --nats tls://HOST:4222 or --nats-context NAME; see docs/guide/nats.md")
}

// AskNATS calls a function that queries NATS; see [AsksNATS].
func (r *Run) AskNATS(function string, args []any) (any, error) {
	if want, _ := AsksNATS(function); len(args) != want {
		return nil, diag.Faultf("%q takes %d arguments, not %d", function, want, len(args))
	}
	s, err := StringArgs(function, args)
	if err != nil {
		return nil, err
	}
	if err := r.CheckDeadline(); err != nil {
		return nil, err
	}
	if r.Env.Inventory == nil || r.Env.Inventory.NATS == nil || r.ctx == nil {
		return nil, NoNATS(function)
	}
	if function == KVGetFunction {
		return r.kvGet(s[0], s[1])
	}
	list, err := r.Env.Inventory.NATS.Registrations(r.ctx, s[0], s[1], s[2], s[3])
	if err != nil {
		return nil, diag.Faultf("%s: %v", function, err)
	}
	return Registrations(list), r.AddSteps(len(list))
}

func (r *Run) kvGet(bucket, key string) (any, error) {
	value, err := r.Env.Inventory.NATS.Value(r.ctx, bucket, key)
	if err != nil {
		return nil, diag.Faultf("%s: %v", KVGetFunction, err)
	}
	return string(value), r.CheckLength(len(value))
}

// Registrations is the result of the function registrations: a list of maps with a method, which all languages can
// call.
type Registrations []any

// PrometheusMethod is the name of that method.
const PrometheusMethod = "PrometheusFileSD"

// PrometheusFileSD returns a document of Prometheus's service discovery by files, as CCM makes it: a group of targets
// for each cluster, service and protocol. It includes services of Prometheus unless the annotation prometheus.io/scrape
// has a value other than true, and others only if it is true; services without a port are omitted.
func (list Registrations) PrometheusFileSD() (string, error) {
	type group struct {
		Labels  map[string]string `json:"labels"`
		Targets []string          `json:"targets"`
	}
	groups := []*group{}
	known := map[[3]string]*group{}
	for _, one := range list {
		r, _ := one.(map[string]any)
		port, hasPort := r["Port"].(int64)
		if !hasPort || !scraped(r) {
			continue
		}
		of := [3]string{keyText(r, "Cluster"), keyText(r, "Service"), keyText(r, "Protocol")}
		g := known[of]
		if g == nil {
			g = &group{Labels: map[string]string{"cluster": of[0], "service": of[1], "protocol": of[2]}}
			annotations, _ := r["Annotations"].(map[string]any)
			for name := range annotations {
				if value := keyText(annotations, name); value != "" && isLabel(name) {
					g.Labels[name] = value
				}
			}
			known[of], groups = g, append(groups, g)
		}
		g.Targets = append(g.Targets, net.JoinHostPort(keyText(r, "Address"), strconv.FormatInt(port, 10)))
	}
	text, err := json.MarshalIndent(groups, "", "  ")
	return string(text), err
}

func scraped(r map[string]any) bool {
	annotations, _ := r["Annotations"].(map[string]any)
	says, said := annotations["prometheus.io/scrape"]
	if !said {
		const its = "prometheus"
		return r["Service"] == its || r["Protocol"] == its
	}
	return says == "true"
}

func keyText(m map[string]any, key string) string {
	text, _ := m[key].(string)
	return text
}

// isLabel reports whether Prometheus accepts a name as a label name.
func isLabel(name string) bool {
	for i, c := range name {
		if c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != "" && !strings.HasPrefix(name, "__")
}
