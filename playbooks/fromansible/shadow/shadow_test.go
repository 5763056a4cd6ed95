package shadow

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const printed = `[WARNING]: a message of Ansible
{"host": "web1", "module": "apt", "task": "tools", "at": "site.yml:3", "status": "changed", "values": {"name": ["curl", "jq=1.6"]}, "message": ""}
{"host": "web1", "module": "lineinfile", "task": "one", "at": "site.yml:5", "status": "ok", "values": {"path": ["/etc/app.conf"]}, "message": ""}
{"host": "web1", "module": "lineinfile", "task": "two", "at": "site.yml:6", "status": "changed", "values": {"path": ["/etc/app.conf"]}, "message": ""}
{"host": "web1", "module": "systemd", "task": "run", "at": "site.yml:7", "status": "failed", "values": {"name": ["nginx.service"]}, "message": "no such unit"}
{"host": "web1", "module": "command", "task": "x", "at": "site.yml:8", "status": "skipped", "values": {}, "message": ""}
{"broken
{"host": "web1", "status": "no status of a task"}
`

func TestCompare(t *testing.T) {
	tasks, err := Tasks(strings.NewReader(printed))
	require.NoError(t, err)
	require.Len(t, tasks, 5)
	resource := func(kind, name string, status Status) Resource {
		return Resource{Host: "web1", Type: kind, Name: name, Status: status}
	}
	packages := []Resource{resource("package", "jq", Changed), resource("package", "curl", OK)}
	lines := []Resource{resource("line", "/etc/app.conf", OK), resource("line", "/etc/app.conf: two", Changed)}
	for _, test := range []struct {
		name      string
		resources []Resource
		want      string
	}{
		{"equal", append(append([]Resource{resource("service", "nginx", Failed), resource("exec", "x", Changed)}, packages...), lines...), `3 compared: 3 equal, 0 different, 0 unknown
tasks not compared: command 1
resources not compared: exec 1
`},
		{"less", lines, `web1  package curl, jq
    Ansible: would change it (site.yml:3 tools)
    ccm-push: no resource
web1  service nginx
    Ansible: fails (site.yml:7 run): no such unit
    ccm-push: no resource
3 compared: 1 equal, 2 different, 0 unknown
tasks not compared: command 1
`},
		{"other results", []Resource{resource("package", "curl", Unknown), resource("line", "/etc/app.conf", Failed), resource("service", "nginx", Failed)}, `web1  path /etc/app.conf
    Ansible: would change it (site.yml:5 one; site.yml:6 two)
    ccm-push: fails
3 compared: 1 equal, 1 different, 1 unknown
tasks not compared: command 1
`},
	} {
		t.Run(test.name, func(t *testing.T) { require.Equal(t, test.want, Compare(tasks, test.resources).Text()) })
	}
}

// FuzzTasks reads what a program prints, and compares it.
func FuzzTasks(f *testing.F) {
	f.Add(printed)
	f.Fuzz(func(t *testing.T, text string) {
		tasks, err := Tasks(strings.NewReader(text))
		if err != nil {
			return
		}
		c := Compare(tasks, nil)
		require.LessOrEqual(t, len(c.Differences)+c.Equal+c.Uncertain, len(tasks))
		_ = c.Text()
	})
}
