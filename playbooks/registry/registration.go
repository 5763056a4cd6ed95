package registry

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"net"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Stream is the stream that has registrations, unless another one is named.
const Stream = "REGISTRATION"

// prefix begins the subject of each registration.
const prefix = "choria.ccm.registration.v1"

// Subjects matches the subjects of all registrations.
const Subjects = prefix + ".>"

// A Registration is the place of a service.
type Registration struct {
	Cluster     string            `json:"cluster"`
	Service     string            `json:"service"`
	Protocol    string            `json:"protocol"`
	Address     string            `json:"address"` // an IP address
	Port        *int              `json:"port"`    // nil means none
	Priority    int               `json:"priority"`
	Annotations map[string]string `json:"annotations,omitempty"`
	TTL         TTL               `json:"ttl,omitzero"`
}

// String returns its name in reports.
func (r Registration) String() string {
	at := r.Address
	if r.Port != nil {
		at = net.JoinHostPort(at, strconv.Itoa(*r.Port))
	}
	return fmt.Sprintf("%s %s of %s at %s", r.Protocol, r.Service, r.Cluster, at)
}

// Subject returns the subject that stores it: one for each address and port of a service.
func (r Registration) Subject() string {
	return strings.Join([]string{prefix, r.Cluster, r.Protocol, r.Service, token(r.Address), r.instance()}, ".")
}

// instance distinguishes ports of a service.
func (r Registration) instance() string {
	port := "%!d(<nil>)" // CCM hashes this text for a missing port
	if r.Port != nil {
		port = strconv.Itoa(*r.Port)
	}
	h := fnv.New64a()
	for _, part := range []string{r.Cluster, r.Service, r.Protocol, r.Address, port} {
		h.Write([]byte(part))
	}
	return hex.EncodeToString(h.Sum(nil))
}

// token is an address as a part of a subject, which dots separate.
func token(address string) string { return strings.ReplaceAll(address, ".", "_") }

// Filter returns a pattern of subjects. "*" and "" match any.
func Filter(cluster, protocol, service, address string) (string, error) {
	parts := []string{cluster, protocol, service, token(address)}
	for i, part := range parts {
		switch {
		case part == "", part == "*":
			parts[i] = "*"
		case !subjectToken().MatchString(part):
			return "", errors.New("a cluster, protocol, service or address of registrations has letters, digits, -, _, . and :, or is *")
		}
	}
	return prefix + "." + strings.Join(parts, ".") + ".*", nil
}

var subjectToken = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_:-]+$`) })

// Never is the TTL of a registration that the stream keeps as long as it can.
const Never TTL = -1

// LeastTTL is the shortest one that NATS has.
const LeastTTL = TTL(time.Second)

// A TTL is the validity of a registration; 0 means the stream's limit.
type TTL time.Duration

// ParseTTL reads never, or a duration with units up to y, as CCM has them; "" is 0.
func ParseTTL(text string) (TTL, error) {
	switch text {
	case "":
		return 0, nil
	case "never":
		return Never, nil
	}
	if !ttlForm().MatchString(text) {
		return 0, errors.New("it is neither a duration such as 30s nor never")
	}
	var total float64
	for _, m := range ttlPart().FindAllStringSubmatch(text, -1) {
		n, err := strconv.ParseFloat(m[1], 64)
		if err != nil {
			return 0, err
		}
		total += n * float64(units()[m[2]])
	}
	const most = 100 * 365 * 24 * time.Hour
	switch {
	case total < float64(LeastTTL):
		return 0, errors.New("it is shorter than one second")
	case total > float64(most):
		return 0, errors.New("it is longer than 100 years: write never")
	}
	return TTL(total), nil
}

var (
	ttlForm = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^([0-9]+([.][0-9]+)?(ns|us|µs|ms|s|m|h|d|w|M|y))+$`)
	})
	ttlPart = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`([0-9.]+)([a-zA-Zµ]+)`) })
)

func units() map[string]time.Duration {
	const day = 24 * time.Hour
	return map[string]time.Duration{
		"ns": time.Nanosecond, "us": time.Microsecond, "µs": time.Microsecond, "ms": time.Millisecond, "s": time.Second,
		"m": time.Minute, "h": time.Hour, "d": day, "w": 7 * day, "M": 30 * day, "y": 365 * day,
	}
}

// String returns never, or a duration; "" means none.
func (t TTL) String() string {
	switch {
	case t == Never:
		return "never"
	case t > 0:
		return time.Duration(t).String()
	}
	return ""
}

// MarshalJSON is the text of it, or null.
func (t TTL) MarshalJSON() ([]byte, error) {
	if t == 0 {
		return []byte("null"), nil
	}
	return json.Marshal(t.String())
}

// UnmarshalJSON reads the forms of other tools: a text, null, or nanoseconds.
func (t *TTL) UnmarshalJSON(text []byte) (err error) {
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		return err
	}
	switch v := v.(type) {
	case nil:
		*t = 0
	case string:
		*t, err = ParseTTL(v)
	case float64:
		*t = TTL(v)
	default:
		return fmt.Errorf("%s is not a TTL", text)
	}
	return err
}
