package modules

import (
	"encoding/json"
	"time"
)

// A HealthCheck is a question to the host that is asked after a resource has had
// its turn. It has Argv, or Rules.
type HealthCheck struct {
	Name     string          `json:"name"`
	Argv     []string        `json:"argv,omitempty"`  // of a command that answers as plugins of Nagios do
	Rules    json.RawMessage `json:"rules,omitempty"` // of goss, as one JSON object; need the full host program
	Tries    int             `json:"tries"`           // at most, until the answer is OK
	TrySleep time.Duration   `json:"sleep,omitempty"` // between them
	Timeout  time.Duration   `json:"timeout"`         // of each
}

// Health is an answer to a [HealthCheck].
type Health string

// The answers of health checks, in the words of Nagios.
const (
	HealthOK       Health = "OK"
	HealthWarning  Health = "WARNING"
	HealthCritical Health = "CRITICAL"
	HealthUnknown  Health = "UNKNOWN"
)

// A HealthVerdict is what came of a health check. Those of a result stand in the
// order of the entry's checks.
type HealthVerdict struct {
	Status Health `json:"status"`
	Tries  int    `json:"tries"`            // that it took
	Output string `json:"output,omitempty"` // of the last one
}
