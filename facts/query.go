package facts

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
)

// A Query is one thing that a play wants to know of its hosts; one of its fields is set.
type Query struct {
	Stat    string `json:"stat,omitempty" doc:"an absolute path: exists, type, mode, owner, group, size, target"`
	Package string `json:"package,omitempty" doc:"a package, as dpkg, rpm, apk or pacman call it: installed, version"`
	Service string `json:"service,omitempty" doc:"a unit of systemd: exists, running, enabled"`
	Getent  string `json:"getent,omitempty" doc:"a database and a key, such as passwd root: exists, fields"`
	Command string `json:"command,omitempty" doc:"a line for /bin/sh that changes nothing: stdout, stderr, exit_code"`
}

// Queries are the queries of plays to a host, by the names of the facts that the answers become.
type Queries map[string]Query

// MaxQueries bounds the JSON of all queries of a run: 32 KiB. They are an argument of the host program.
const MaxQueries = 32 << 10

// asked is the prefix of queries in a list of collectors.
const asked = "ask="

// Collector returns the queries as one entry of a host program's list of collectors, or "". The entry contains only
// characters that a shell takes as text.
func (q Queries) Collector() string {
	if len(q) == 0 {
		return ""
	}
	text, _ := json.Marshal(q) // of a map of texts
	return asked + base64.RawURLEncoding.EncodeToString(text)
}

// ParseQueries reads what [Queries.Collector] has written. ok is false of other entries of the list.
func ParseQueries(entry string) (q Queries, ok bool, err error) {
	text, ok := strings.CutPrefix(entry, asked)
	if !ok {
		return nil, false, nil
	}
	plain, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil {
		err = json.Unmarshal(plain, &q)
	}
	if err != nil {
		err = fmt.Errorf("requested facts: %w", err)
	}
	return q, true, err
}
