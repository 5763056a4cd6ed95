package tracing

import (
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// A Config has the environment's settings of traces, in the variables of OpenTelemetry
// (https://opentelemetry.io/docs/specs/otel/protocol/exporter/).
type Config struct {
	Endpoint string // target of requests; empty if traces are disabled
	headers  http.Header
	resource []attribute
	parent   parent
}

// A parent is the span that the run belongs to. The zero parent means none.
type parent struct {
	trace, span string // in hex
	unsampled   bool   // the trace is not kept
}

// FromEnvironment reads the variables. Invalid variables are an error, which contains no value of a header; then the
// endpoint is empty. Missing variables are no error.
func FromEnvironment(getenv func(string) string) (Config, error) {
	var c Config
	pairs, err := listOf(getenv("OTEL_RESOURCE_ATTRIBUTES"))
	if err != nil {
		err = fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	if name := getenv("OTEL_SERVICE_NAME"); name != "" {
		pairs = append(slices.DeleteFunc(pairs, func(p pair) bool { return p.key == "service.name" }), pair{"service.name", name})
	}
	if !slices.ContainsFunc(pairs, func(p pair) bool { return p.key == "service.name" }) {
		pairs = append(pairs, pair{"service.name", "ccm-push"})
	}
	for _, p := range pairs {
		c.resource = append(c.resource, text(p.key, p.value))
	}
	c.parent = parentOf(getenv("TRACEPARENT"))
	if strings.EqualFold(getenv("OTEL_SDK_DISABLED"), "true") || getenv("OTEL_TRACES_EXPORTER") == "none" || c.parent.unsampled {
		return c, nil
	}
	if collectorErr := c.collector(getenv); collectorErr != nil || c.Endpoint == "" {
		return c, collectorErr
	}
	if err != nil {
		c.Endpoint = ""
	}
	return c, err
}

// collector reads which one there is.
func (c *Config) collector(getenv func(string) string) error {
	first := func(names ...string) (name, value string) {
		for _, name := range names {
			if value := getenv(name); value != "" {
				return name, value
			}
		}
		return "", ""
	}
	name, endpoint := first("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
	if endpoint == "" {
		return nil
	}
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("%s is not a URL that begins with http:// or https://", name) // it may hold a password
	}
	if name, protocol := first("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"); protocol == "grpc" {
		return fmt.Errorf("the variable %q is grpc, but ccm-push sends traces only over HTTP: set this variable to http/json, and OTEL_EXPORTER_OTLP_TRACES_ENDPOINT to an HTTP endpoint (port 4318)", name)
	}
	if name == "OTEL_EXPORTER_OTLP_ENDPOINT" { // the base of several
		u = u.JoinPath("v1/traces")
	}
	headersName, headers := first("OTEL_EXPORTER_OTLP_TRACES_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS")
	pairs, err := listOf(headers)
	if err != nil {
		return fmt.Errorf("%s: %w", headersName, err)
	}
	c.headers = http.Header{}
	for _, p := range pairs {
		c.headers.Set(p.key, p.value)
	}
	c.Endpoint = u.String()
	return nil
}

type pair struct{ key, value string }

// errList does not quote the list, which may contain secrets.
var errList = errors.New("the value is not a list such as KEY=VALUE,KEY=VALUE; write %2C for a comma in a value")

// listOf reads the form of W3C baggage.
func listOf(list string) ([]pair, error) {
	var pairs []pair
	for one := range strings.SplitSeq(list, ",") {
		if strings.TrimSpace(one) == "" {
			continue
		}
		key, escaped, found := strings.Cut(one, "=")
		value, err := url.PathUnescape(strings.TrimSpace(escaped))
		key = strings.TrimSpace(key)
		if !found || err != nil || key == "" || strings.ContainsAny(key+value, "\r\n\x00") {
			return nil, errList
		}
		pairs = append(pairs, pair{key, value})
	}
	return pairs, nil
}

// parentOf reads W3C's traceparent: VERSION-TRACE-SPAN-FLAGS. An invalid value means no parent, as the specification
// demands.
func parentOf(s string) parent {
	parts := strings.Split(s, "-")
	if len(parts) < 4 || parts[0] == "ff" || parts[0] == "00" && len(parts) > 4 {
		return parent{}
	}
	for i, length := range []int{2, 32, 16, 2} {
		if _, err := hex.DecodeString(parts[i]); err != nil || len(parts[i]) != length || strings.ToLower(parts[i]) != parts[i] {
			return parent{}
		}
	}
	if strings.Trim(parts[1], "0") == "" || strings.Trim(parts[2], "0") == "" {
		return parent{}
	}
	flags, _ := hex.DecodeString(parts[3])
	return parent{parts[1], parts[2], flags[0]&1 == 0}
}
