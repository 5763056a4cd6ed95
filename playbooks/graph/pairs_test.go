package graph

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/builtin"
)

// resource makes the vertex of a resource of a type.
func resource(t *testing.T, typeName, properties string) Vertex {
	t.Helper()
	res, err := builtin.Types().Decode(typeName, json.RawMessage(properties))
	require.NoError(t, err, properties)
	v := Vertex{Ref: typeName + "#" + modules.Name(res), Within: -1}
	if related, ok := res.(modules.Related); ok {
		v.Relations = related.Related()
	}
	return v
}

const owned = `"owner":"app","group":"www","mode":"0644"`

// pairs are two resources and why the first one comes before the second: "" if it
// need not.
var pairs = []struct{ firstType, first, secondType, second, why string }{
	{"file", `{"name":"/srv","ensure":"directory",` + owned + `}`, "file", `{"name":"/srv/a/b",` + owned + `}`, "parent directory"},
	{"file", `{"name":"/srv/a",` + owned + `}`, "file", `{"name":"/srv/ab",` + owned + `}`, ""},
	{"user", `{"name":"app"}`, "file", `{"name":"/x",` + owned + `}`, "owner"},
	{"user", `{"name":"other","uid":1000}`, "file", `{"name":"/x","owner":"1000","group":"0","mode":"0644"}`, "owner"},
	{"group", `{"name":"www"}`, "file", `{"name":"/x",` + owned + `}`, "group"},
	{"user", `{"name":"app","ensure":"absent"}`, "file", `{"name":"/x",` + owned + `}`, ""},
	{"package", `{"name":"nginx"}`, "file", `{"name":"/etc/nginx/conf.d/x",` + owned + `}`, "package of its directory"},
	{"package", `{"name":"openssh-server"}`, "file", `{"name":"/etc/ssh/sshd_config",` + owned + `}`, "package of its directory"},
	{"file", `{"name":"/srv/a","ensure":"absent"}`, "file", `{"name":"/srv","ensure":"absent"}`, "parent directory"},
	{"link", `{"name":"/srv","target":"/data"}`, "file", `{"name":"/srv/a",` + owned + `}`, "parent directory"},
	{"file", `{"name":"/opt/app-1","ensure":"directory",` + owned + `}`, "link", `{"name":"/opt/app","target":"app-1"}`, "target"},
	{"file", `{"name":"/opt/app-1","ensure":"directory",` + owned + `}`, "link", `{"name":"/usr/bin/app","target":"../../opt/app-1/bin/app"}`, "target"},
	{"file", `{"name":"/usr/local/bin","ensure":"directory",` + owned + `}`, "link", `{"name":"/usr/local/bin/x","target":"/bin/x"}`, "parent directory"},
	{"archive", `{"name":"/tmp/a.tar","url":"http://h/a.tar","owner":"root","group":"root","checksum":"` + sum + `","extract_parent":"/opt","creates":"/opt/app"}`, "link", `{"name":"/usr/bin/x","target":"/opt/app/x"}`, "target"},
	{"file", `{"name":"/opt","ensure":"directory",` + owned + `}`, "archive", `{"name":"/tmp/a.tar","url":"http://h/a.tar","owner":"app","group":"root","checksum":"` + sum + `","extract_parent":"/opt/x"}`, "directory to unpack into"},
	{"user", `{"name":"app"}`, "archive", `{"name":"/tmp/a.tar","url":"http://h/a.tar","owner":"app","group":"root","checksum":"` + sum + `"}`, "owner"},
	{"file", `{"name":"/etc/x.conf",` + owned + `}`, "line", `{"name":"l","path":"/etc/x.conf","line":"a"}`, "file that it edits"},
	{"line", `{"name":"l","path":"/etc/x.conf","line":"a"}`, "service", `{"name":"x"}`, "configuration"},
	{"group", `{"name":"app"}`, "user", `{"name":"app"}`, "primary group"},
	{"group", `{"name":"adm"}`, "user", `{"name":"app","groups":["adm"]}`, "group"},
	{"group", `{"name":"x","gid":7}`, "user", `{"name":"app","group":"7"}`, "primary group"},
	{"user", `{"name":"app","ensure":"absent"}`, "group", `{"name":"app","ensure":"absent"}`, "primary group"},
	{"package", `{"name":"zsh"}`, "user", `{"name":"app","shell":"/usr/bin/zsh"}`, "package of its shell"},
	{"file", `{"name":"/srv","ensure":"directory","owner":"root","group":"root","mode":"0755"}`, "user", `{"name":"app","home":"/srv/app"}`, "parent directory"},
	{"user", `{"name":"app","home":"/srv/app"}`, "file", `{"name":"/srv/app/.profile","owner":"0","group":"0","mode":"0644"}`, "parent directory"},
	{"file", `{"name":"/etc/systemd/system/web.service",` + owned + `}`, "service", `{"name":"web"}`, "unit file"},
	{"file", `{"name":"/usr/lib/systemd/system/web@.service",` + owned + `}`, "service", `{"name":"web@1.service"}`, "unit file"},
	{"file", `{"name":"/etc/systemd/system/web.service.d/x.conf",` + owned + `}`, "service", `{"name":"web"}`, "drop-in of its unit"},
	{"file", `{"name":"/etc/systemd/system/web.timer",` + owned + `}`, "service", `{"name":"web.timer"}`, "unit file"},
	{"file", `{"name":"/etc/systemd/system/web.timer",` + owned + `}`, "service", `{"name":"web"}`, ""},
	{"file", `{"name":"/etc/init.d/web",` + owned + `}`, "service", `{"name":"web"}`, "init script"},
	{"container", `{"name":"web","image":"web:1","provider":"quadlet"}`, "service", `{"name":"web"}`, "quadlet of its unit"},
	{"package", `{"name":"nginx"}`, "service", `{"name":"nginx"}`, "package"},
	{"package", `{"name":"openssh-server"}`, "service", `{"name":"sshd"}`, "package"},
	{"package", `{"name":"postgresql-server"}`, "service", `{"name":"postgresql"}`, "package"},
	{"file", `{"name":"/etc/nginx/sites/a",` + owned + `}`, "service", `{"name":"nginx"}`, "configuration"},
	{"file", `{"name":"/etc/default/web",` + owned + `}`, "service", `{"name":"web"}`, "configuration"},
	{"service", `{"name":"web","ensure":"stopped"}`, "package", `{"name":"web","ensure":"absent"}`, "package"},
	{"service", `{"name":"web","ensure":"stopped"}`, "file", `{"name":"/etc/systemd/system/web.service","ensure":"absent"}`, "unit file"},
	{"file", `{"name":"/etc/apt/sources.list.d/x.sources",` + owned + `}`, "package", `{"name":"x:i386"}`, "package repository or key"},
	{"file", `{"name":"/etc/pki/rpm-gpg/KEY",` + owned + `}`, "package", `{"name":"x"}`, "package repository or key"},
	{"file", `{"name":"/etc/apt/keyrings/x.gpg",` + owned + `}`, "package", `{"name":"x","ensure":"absent"}`, ""},
	{"file", `{"name":"/opt/run.sh",` + owned + `}`, "exec", `{"name":"/opt/run.sh --now"}`, "command"},
	{"file", `{"name":"/opt/run.sh",` + owned + `}`, "exec", `{"name":"x","command":"./run.sh","cwd":"/opt"}`, "command"},
	{"file", `{"name":"/opt/check",` + owned + `}`, "exec", `{"name":"x","command":"true","unless":"/opt/check it"}`, "guard"},
	{"file", `{"name":"/opt/run.sh",` + owned + `}`, "exec", `{"name":"x","provider":"shell","command":"/opt/run.sh | wc -l"}`, "command"},
	{"file", `{"name":"/opt/run.sh",` + owned + `}`, "exec", `{"name":"x","provider":"shell","command":"$(/opt/run.sh)"}`, ""},
	{"package", `{"name":"git"}`, "exec", `{"name":"git clone x"}`, "package of its command"},
	{"user", `{"name":"app"}`, "exec", `{"name":"true","user":"app"}`, "user"},
	{"file", `{"name":"/opt","ensure":"directory",` + owned + `}`, "exec", `{"name":"make","creates":"/opt/x/y"}`, "parent directory"},
	{"exec", `{"name":"make","creates":"/opt/x"}`, "file", `{"name":"/opt/x/y",` + owned + `}`, "parent directory"},
	{"user", `{"name":"app"}`, "cron", `{"name":"j","command":"true","user":"app"}`, "owner"},
	{"file", `{"name":"/opt/run.sh",` + owned + `}`, "cron", `{"name":"j","command":"A=b /opt/run.sh >/dev/null"}`, "command"},
	{"package", `{"name":"cron"}`, "cron", `{"name":"j","command":"true"}`, "package of crontab"},
	{"cron", `{"name":"j","ensure":"absent","user":"app"}`, "user", `{"name":"app","ensure":"absent"}`, "user"},
	{"user", `{"name":"app"}`, "scaffold", `{"name":"/srv/x","owner":"app","tree":{"mode":493,"nodes":[]}}`, "owner"},
	{"scaffold", `{"name":"/etc/systemd/system","tree":{"mode":493,"nodes":[{"path":"web.service","mode":420,"content":{"text":""}}]}}`, "service", `{"name":"web"}`, "unit file"},
	{"dsc", `{"name":"x","type":"DSC.PackageManagement/Apt","properties":{"packageName":"nginx"}}`, "service", `{"name":"nginx"}`, "package"},
	{"file", `{"name":"/etc/apt/sources.list",` + owned + `}`, "dsc", `{"name":"nginx","type":"Owner/Package"}`, "package repository or key"},
	{"ral", `{"name":"nginx","type":"package"}`, "ral", `{"name":"nginx","type":"service"}`, "package"},
}

const sum = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

// TestPairs checks the automatic dependencies of every type, for both written orders of a pair.
func TestPairs(t *testing.T) {
	for _, c := range pairs {
		first, second := resource(t, c.firstType, c.first), resource(t, c.secondType, c.second)
		for _, vertices := range [][]Vertex{{first, second}, {second, first}} {
			g, err := New(vertices, nil)
			require.NoError(t, err)
			want := ""
			if c.why != "" {
				want = first.Ref + " < " + second.Ref + " (" + c.why + ")"
			}
			var edges []Edge
			for _, e := range g.Edges {
				if e.Kind != Turn {
					edges = append(edges, e)
				}
			}
			require.Equal(t, want, shown(g, edges), "%s and %s", first.Ref, second.Ref)
			require.Empty(t, g.Dropped)
		}
	}
}
