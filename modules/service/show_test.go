package service

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// shown is the output of systemd 252 for ssh.service, with some lines replaced.
func shown(instead ...string) string {
	text := `Type=notify
RemainAfterExit=no
Result=success
NRestarts=0
ExecMainStatus=0
Id=ssh.service
Names=ssh.service sshd.service
LoadState=loaded
ActiveState=active
FragmentPath=/lib/systemd/system/ssh.service
SourcePath=
DropInPaths=
UnitFileState=enabled
InactiveExitTimestampMonotonic=15576672241
CanReload=yes
ConditionResult=yes
ConditionTimestampMonotonic=15576671000
NeedDaemonReload=no
LoadError=
`
	for _, line := range instead {
		key, _, _ := strings.Cut(line, "=")
		var kept strings.Builder
		for old := range strings.Lines(text) {
			if !strings.HasPrefix(old, key+"=") {
				kept.WriteString(old)
			}
		}
		text = kept.String() + line + "\n"
	}
	return text
}

func ssh(change func(*unit)) unit {
	u := unit{
		id:        "ssh.service",
		names:     []string{"ssh.service", "sshd.service"},
		file:      "/lib/systemd/system/ssh.service",
		files:     []string{"/lib/systemd/system/ssh.service"},
		state:     "active",
		result:    "success",
		status:    "0",
		fileState: "enabled",
		canReload: true,
	}
	change(&u)
	return u
}

func TestParseShow(t *testing.T) {
	for _, tc := range []struct {
		name string
		text string
		want unit
	}{
		{"running", shown(), ssh(func(*unit) {})},
		{"changed on disk", shown("NeedDaemonReload=yes"), ssh(func(u *unit) { u.stale = true })},
		{
			"drop-ins", shown("DropInPaths=/etc/systemd/system/ssh.service.d/a.conf /run/b.conf"),
			ssh(func(u *unit) {
				u.files = append(u.files, "/etc/systemd/system/ssh.service.d/a.conf", "/run/b.conf")
			}),
		},
		{
			"failed", shown("ActiveState=failed", "Result=exit-code", "ExecMainStatus=255", "NRestarts=5"),
			ssh(func(u *unit) { u.state, u.result, u.status, u.restarts = "failed", "exit-code", "255", 5 }),
		},
		{
			"a condition that is not met", shown("ActiveState=inactive", "ConditionResult=no"),
			ssh(func(u *unit) { u.state, u.unmet = "inactive", true }),
		},
		{
			"a condition that nobody has looked at", shown("ActiveState=inactive", "ConditionResult=no", "ConditionTimestampMonotonic=0"),
			ssh(func(u *unit) { u.state = "inactive" }),
		},
		{
			"a oneshot that has ended well", shown("Type=oneshot", "ActiveState=inactive"),
			ssh(func(u *unit) { u.state, u.oneshot, u.endedRun = "inactive", true, true }),
		},
		{
			"a oneshot that has never run", shown("Type=oneshot", "ActiveState=inactive", "InactiveExitTimestampMonotonic=0"),
			ssh(func(u *unit) { u.state, u.oneshot = "inactive", true }),
		},
		{
			"a oneshot that has failed", shown("Type=oneshot", "ActiveState=failed", "Result=exit-code"),
			ssh(func(u *unit) { u.state, u.oneshot, u.result = "failed", true, "exit-code" }),
		},
		{
			"a oneshot that remains", shown("Type=oneshot", "RemainAfterExit=yes", "ActiveState=inactive"),
			ssh(func(u *unit) { u.state = "inactive" }),
		},
		{
			"masked", shown("LoadState=masked", "UnitFileState=masked", `LoadError=org.freedesktop.systemd1.UnitMasked "Unit ssh.service is masked."`),
			ssh(func(u *unit) { u.fileState = "masked" }),
		},
		{
			"bad", shown("LoadState=bad-setting", `LoadError=org.freedesktop.systemd1.BadUnitSetting "Unit ssh.service has a bad unit file setting."`),
			ssh(func(u *unit) {
				u.broken = "Unit ssh.service has a bad unit file setting; to see which, run on the host: systemd-analyze verify " + u.file
			}),
		},
		{"bad, and nobody says why", shown("LoadState=error"), ssh(func(u *unit) { u.broken = "error" })},
		{
			"a script of System V", shown("UnitFileState=generated", "SourcePath=/etc/init.d/ssh"),
			ssh(func(u *unit) {
				u.sysV, u.fileState, u.files = true, "generated", append(u.files, "/etc/init.d/ssh")
			}),
		},
		{
			"generated from something else", shown("UnitFileState=generated", "SourcePath=/etc/fstab"),
			ssh(func(u *unit) { u.fileState, u.files = "generated", append(u.files, "/etc/fstab") }),
		},
		{
			"gone, but still running", shown("LoadState=not-found", "UnitFileState="),
			ssh(func(u *unit) { u.fileState = "" }),
		},
		{
			"not there", "Id=nope.service\nNames=nope.service\nLoadState=not-found\nActiveState=inactive\nType=\nResult=success\n",
			unit{id: "nope.service", names: []string{"nope.service"}, missing: true, state: "inactive", result: "success"},
		},
		{"nothing", "", unit{id: "asked.service", names: []string{"asked.service"}, broken: "systemd does not report it"}},
	} {
		t.Run(tc.name, func(t *testing.T) { require.Equal(t, tc.want, parseShow("asked.service", tc.text)) })
	}
}

func FuzzParseShow(f *testing.F) {
	f.Add(shown())
	f.Add(shown("LoadState=bad-setting", `LoadError=x "y`))
	f.Add("Names=\nId\n=\nNRestarts=-1\nLoadError= \n")
	f.Fuzz(func(t *testing.T, text string) {
		u := parseShow("asked.service", text)
		require.NotEmpty(t, u.id)
		require.Contains(t, u.names, u.id)
		require.GreaterOrEqual(t, u.restarts, 0)
		require.LessOrEqual(t, len(u.broken), 2*(maxLine+len("…"))+len("; to see which, run on the host: systemd-analyze verify "))
		require.False(t, u.missing && u.enabled(), "nothing can be enabled that is not there")
	})
}

func TestUnitName(t *testing.T) {
	for name, want := range map[string]string{
		"nginx": "nginx.service", "nginx.service": "nginx.service", "my.app": "my.app.service", "app@1": "app@1.service",
		"apt-daily.timer": "apt-daily.timer", ".service": ".service.service", "123": "123.service", "-.mount": "-.mount",
	} {
		require.Equal(t, want, unitName(name))
	}
}

func TestTemplate(t *testing.T) {
	for id, want := range map[string]string{
		"app@1.service": "app@.service", "app@a@b.timer": "app@.timer", "app.service": "", "app@.service": "",
	} {
		name, ok := template(id)
		require.Equal(t, want != "", ok, id)
		if ok {
			require.Equal(t, want, name)
		}
	}
}
