package tracing

import (
	"strconv"
	"time"

	"github.com/ccm-push/ccm-push/inventory/printable"
)

// The JSON of OTLP, an ExportTraceServiceRequest: ids in hex, enums as numbers, 64-bit numbers as
// texts (https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding).
type (
	request struct {
		ResourceSpans []resourceSpans `json:"resourceSpans"`
	}
	resourceSpans struct {
		Resource   resource     `json:"resource"`
		ScopeSpans []scopeSpans `json:"scopeSpans"`
	}
	resource struct {
		Attributes []attribute `json:"attributes"`
	}
	scopeSpans struct {
		Scope scope  `json:"scope"`
		Spans []span `json:"spans"`
	}
	scope struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	}
	span struct {
		TraceID    string      `json:"traceId"`
		SpanID     string      `json:"spanId"`
		ParentID   string      `json:"parentSpanId,omitempty"`
		Name       string      `json:"name"`
		Kind       int         `json:"kind"`
		Start      unixNano    `json:"startTimeUnixNano"`
		End        unixNano    `json:"endTimeUnixNano"`
		Attributes []attribute `json:"attributes,omitempty"`
		Status     *status     `json:"status,omitempty"`
	}
	status struct {
		Code int `json:"code"`
	}
	attribute struct {
		Key   string `json:"key"`
		Value value  `json:"value"`
	}
	value struct {
		String *string    `json:"stringValue,omitempty"`
		Bool   *bool      `json:"boolValue,omitempty"`
		Int    *int64     `json:"intValue,string,omitempty"`
		Array  *arrayOnly `json:"arrayValue,omitempty"`
	}
	arrayOnly struct {
		Values []value `json:"values"`
	}
)

// Kinds and the status of spans.
const (
	kindInternal = 1
	kindClient   = 3
	statusError  = 2
)

// unixNano is a time as OTLP has it.
type unixNano time.Time

// MarshalJSON implements [json.Marshaler].
func (t unixNano) MarshalJSON() ([]byte, error) {
	return strconv.AppendQuote(nil, strconv.FormatInt(time.Time(t).UnixNano(), 10)), nil
}

func text(key, s string) attribute { return attribute{key, value{String: &s}} }
func truth(key string, b bool) attribute {
	return attribute{key, value{Bool: &b}}
}

func number(key string, n int) attribute {
	wide := int64(n)
	return attribute{key, value{Int: &wide}}
}

func texts(key string, list []string) attribute {
	array := arrayOnly{Values: []value{}}
	for _, s := range list {
		array.Values = append(array.Values, value{String: &s})
	}
	return attribute{key, value{Array: &array}}
}

// encode returns spans as a request on one line.
func encode(of resource, version string, spans []span) ([]byte, error) {
	return printable.JSON(request{[]resourceSpans{{of, []scopeSpans{{scope{"ccm-push", version}, spans}}}}})
}
