package exec

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

const asShell = " needs a shell, but exec does not start one; add provider: shell"

func isForShell(found string) string {
	return strconv.Quote(found) + asShell + ", or write '" + found + "' in the command to pass it unchanged"
}

func isShellCommand(name string) string { return strconv.Quote(name) + asShell }

func TestForShell(t *testing.T) {
	for command, want := range map[string]string{
		"echo $HOME > /tmp/x":                       isForShell("$HOME"),
		"echo x > /tmp/x":                           isForShell(">"),
		"echo x >/tmp/x":                            isForShell(">/tmp/x"),
		"make 2>&1":                                 isForShell("2>&1"),
		"make 2>/dev/null":                          isForShell("2>/dev/null"),
		"sort < /etc/passwd":                        isForShell("<"),
		"cd /tmp && ls":                             isShellCommand("cd") + `, or set "cwd" to the folder`,
		"ls /a && ls /b":                            isForShell("&&"),
		"ls | wc":                                   isForShell("|"),
		"test -e /a || touch /a":                    isForShell("||"),
		"sleep 9 &":                                 isForShell("&"),
		"ls /a; ls /b":                              isForShell(";"),
		"ls; ls":                                    isForShell(";"),
		"ls /a ; ls /b":                             isForShell(";"),
		`echo "$(date)"`:                            isForShell("$("),
		"kill `cat /run/x.pid`":                     isForShell("`"),
		`echo "at $HOME"`:                           isForShell("$HOME"),
		"ls ~/x":                                    isForShell("~"),
		"rm -f /tmp/cache/*":                        isForShell("*"),
		"export A=1":                                isShellCommand("export"),
		"source /etc/profile":                       isShellCommand("source"),
		"ulimit -n 9":                               isShellCommand("ulimit"),
		"command -v git":                            isShellCommand("command"),
		"for i in 1 2; do echo $i; done":            isShellCommand("for"),
		"LANG=C sort":                               "LANG=…" + asShell + `, or set the variable under "environment"`,
		"sh -c 'echo x' > /tmp/x":                   isForShell(">"),
		"":                                          "",
		"  ":                                        "",
		"echo '$HOME'":                              "",
		`echo \$HOME`:                               "",
		`echo "\$HOME"`:                             "",
		"grep 'a|b' /etc/x":                         "",
		`grep "a|b > c && d" /etc/x`:                "",
		"echo 'a' '>' 'b'":                          "",
		`echo \> b`:                                 "",
		"grep foo$ /etc/x":                          "",
		"awk '{print $1}' /etc/x":                   "",
		`awk "{print $NF}" /etc/x`:                  "",
		`sh -c "echo $HOME > /tmp/x"`:               "",
		`/bin/bash -ec "cd /tmp && ls $X"`:          "",
		`perl -ne "print $_" /etc/x`:                "",
		`su - app -c "echo $HOME"`:                  "",
		"find /tmp -name *.log -exec rm {} ;":       "",
		`find /tmp -name *.log -exec rm {} \;`:      "",
		"curl -fsS http://x.example/?a=1&b=2":       "",
		"curl http://x.example/a;b":                 "",
		"systemctl restart foo@*":                   "",
		"apt-get install -y php-*":                  "",
		"echo <b>bold</b>":                          "",
		"test 1 -lt 2":                              "",
		"[ -e /etc/x ]":                             "",
		"env A=1 sort":                              "",
		"dd if=/dev/zero of=/swap bs=1M":            "",
		"chmod u=rwx,g=rx /a":                       "",
		`sed -i 's/a$/b/; s/c/d/' /etc/x`:           "",
		"git clone https://x.example/a.git /srv/~a": "",
	} {
		require.Equal(t, want, forShell(command), command)
	}
}

func TestWarnings(t *testing.T) {
	e := &Exec{Name: "the name > is one", Command: "ls | wc", OnlyIf: "cd /", Unless: "true"}
	var found []string
	for _, w := range e.Warnings() {
		found = append(found, w.Path+": "+w.Msg)
	}
	require.Equal(t, []string{"command: " + isForShell("|"), "onlyif: " + isShellCommand("cd") + `, or set "cwd" to the folder`}, found)
	e.Provider = "shell"
	require.Empty(t, e.Warnings())
}

// FuzzForShell uses any command: the words are the host's words.
func FuzzForShell(f *testing.F) {
	for _, s := range []string{"a b", `a\ b "c d"`, "'", `"$`, "\\"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, command string) { forShell(command) })
}
