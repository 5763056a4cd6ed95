package exec

import (
	"path"
	"slices"
	"strings"

	shellquote "github.com/kballard/go-shellquote"

	"github.com/ccm-push/ccm-push/modules"
)

// readers are programs that read only the paths in their arguments.
var readers = []string{"[", "cat", "cmp", "egrep", "fgrep", "grep", "ls", "readlink", "stat", "test", "wc"}

// readPaths returns the paths that a program with these arguments reads; nil if they are not known.
func readPaths(argv []string) []string {
	if len(argv) == 0 || !slices.Contains(readers, path.Base(argv[0])) {
		return nil
	}
	pattern := strings.HasSuffix(path.Base(argv[0]), "grep") // its first operand
	var paths []string
	for _, word := range argv[1:] {
		switch {
		case strings.HasPrefix(word, "-") && strings.Contains(word, "/"), pattern && (word == "-e" || word == "-f"):
			return nil
		case strings.HasPrefix(word, "-"), slices.Contains([]string{"!", "(", ")", "]"}, word):
		case pattern:
			pattern = false
		case path.IsAbs(word):
			paths = append(paths, path.Clean(word))
		default: // such as a relative path
			return nil
		}
	}
	return paths
}

// A known is a command with known effects.
type known struct {
	words   []string // its first words
	affects modules.Affects
	more    bool // its settings may name further paths
}

// knowns are commands that only read, or have documented effects. TestFleetKnownCommands measures them on a host.
var knowns = []known{
	{[]string{"systemctl", "daemon-reload"}, modules.Affects{"/run/systemd/generator", "/run/systemd/generator.early", "/run/systemd/generator.late"}, false},
	{[]string{"systemctl", "reset-failed"}, modules.Affects{"service#all"}, false},
	{[]string{"visudo", "-c"}, modules.Affects{}, false},
	{[]string{"visudo", "-cf"}, modules.Affects{}, false},
	{[]string{"sshd", "-t"}, modules.Affects{}, false},
	{[]string{"ldconfig"}, modules.Affects{"/etc/ld.so.cache", "/var/cache/ldconfig"}, false},
	{[]string{"nginx", "-t"}, modules.Affects{"/var/log/nginx", "/var/lib/nginx", "/run/nginx.pid"}, true},
	{[]string{"apachectl", "configtest"}, modules.Affects{"/var/log/apache2", "/var/log/httpd", "/run/apache2", "/run/httpd"}, true},
	{[]string{"apache2ctl", "configtest"}, modules.Affects{"/var/log/apache2", "/run/apache2"}, true},
	{[]string{"haproxy", "-c"}, modules.Affects{}, true},
	{[]string{"named-checkconf"}, modules.Affects{}, true},
	{[]string{"newaliases"}, modules.Affects{"/etc/aliases.db"}, true},
	{[]string{"update-ca-certificates"}, modules.Affects{"/etc/ssl/certs", "/etc/ca-certificates"}, true},
}

// effectsOf returns the effects of a command that does not declare any.
func effectsOf(command, provider string) []modules.Effect {
	unknown := modules.Affects(nil).Effects()
	argv, err := shellquote.Split(command)
	if provider == shell || err != nil || len(argv) == 0 {
		return unknown
	}
	argv[0] = path.Base(argv[0])
	for _, k := range knowns {
		switch {
		case len(argv) < len(k.words) || !slices.Equal(argv[:len(k.words)], k.words):
		case k.more:
			return k.affects.Effects()
		default:
			return k.affects.Only()
		}
	}
	return unknown
}
