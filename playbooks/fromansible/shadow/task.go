package shadow

import (
	"bufio"
	"bytes"
	_ "embed" // the plugin
	"encoding/json"
	"fmt"
	"io"
)

// Plugin is a callback plugin of ansible-playbook, which prints one line of JSON for each [Task]. Its name is ccm_push.
//
//go:embed callback.py
var Plugin []byte

// A Status is the result of a task or a resource in a check run.
type Status string

// The results, from the weakest to the strongest: a thing that several tasks are about has the strongest of them.
const (
	Skipped     Status = "skipped"
	OK          Status = "ok"
	Unknown     Status = "unknown" // ccm-push cannot predict the result
	Changed     Status = "changed"
	Failed      Status = "failed"
	Unreachable Status = "unreachable"
)

var strengths = map[Status]int{Skipped: 1, OK: 2, Unknown: 3, Changed: 4, Failed: 5, Unreachable: 6}

// A Task is the result of a task of Ansible on a host, or of one round of its loop.
type Task struct {
	Host    string           `json:"host"`
	Module  string           `json:"module"` // without its collection
	Name    string           `json:"task"`
	At      string           `json:"at"` // FILE:LINE
	Status  Status           `json:"status"`
	Values  map[string][]any `json:"values"` // arguments that name what the task is about
	Message string           `json:"message"`
}

// maxLine limits a line of the plugin, in bytes.
const maxLine = 4 << 20

// Tasks reads what ansible-playbook prints with [Plugin]. Lines that are not JSON objects are ignored: Ansible prints its own messages.
func Tasks(r io.Reader) ([]Task, error) {
	var tasks []Task
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		line := bytes.TrimSpace(lines.Bytes())
		if !bytes.HasPrefix(line, []byte("{")) {
			continue
		}
		var t Task
		if err := json.Unmarshal(line, &t); err != nil || t.Host == "" || strengths[t.Status] == 0 {
			continue
		}
		tasks = append(tasks, t)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("results of ansible-playbook: %w", err)
	}
	return tasks, nil
}
