package exec

import (
	"context"
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

// needsOne reports whether a program of [readers] fails if none of its paths exists.
func needsOne(argv []string) bool {
	switch path.Base(argv[0]) {
	case "readlink": // with -f and -m, it does not
		return len(argv) == 2
	case "[", "test":
		return len(argv) > 2 && slices.Contains([]string{"-d", "-e", "-f", "-r", "-s", "-x"}, argv[1]) && (len(argv) == 3 || len(argv) == 4 && argv[3] == "]")
	}
	return true
}

// allMissing reports whether none of the paths exists. It reads all of them, so that a doubt about one counts.
func allMissing(files modules.FileReader, paths []string) bool {
	missing := 0
	for _, name := range paths {
		if _, err := modules.Follow(files, name); modules.NotThere(err) {
			missing++
		}
	}
	return len(paths) > 0 && missing == len(paths)
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

// aliases returns the effects of newaliases of Postfix, which writes one file; nil if they are not known.
func aliases(ctx context.Context, h modules.Host) []modules.Effect {
	exit, err := h.Commands.Probe(ctx, modules.Command{Argv: []string{"postconf", "-h", "alias_database"}, Paths: []string{"/etc/postfix"}})
	if err != nil || exit.Code != 0 { // another mail server
		return nil
	}
	typ, name, _ := strings.Cut(strings.TrimSpace(exit.Stdout.Text), ":")
	suffix := map[string]string{"hash": ".db", "btree": ".db", "lmdb": ".lmdb"}[typ]
	if suffix == "" || !path.IsAbs(name) || strings.ContainsAny(name, " ,$") { // several, or with a variable
		return nil
	}
	return modules.Differ("", path.Clean(name+suffix))
}

// certainly returns what a query of the host returns, or nil if its answer may be wrong in a check run.
func certainly(ctx context.Context, h modules.Host, query func(context.Context, modules.Host) []modules.Effect) []modules.Effect {
	if h.Aside == nil {
		return query(ctx, h)
	}
	aside, grade := h.Aside()
	if answer := query(ctx, aside); grade() == modules.Certain {
		return answer
	}
	return nil
}

// effectsOf returns the effects of a command that does not declare any.
func effectsOf(ctx context.Context, h modules.Host, command, provider string) []modules.Effect {
	unknown := modules.Affects(nil).Effects()
	argv, err := shellquote.Split(command)
	if provider == shell || err != nil || len(argv) == 0 {
		return unknown
	}
	argv[0] = path.Base(argv[0])
	if slices.Equal(argv, []string{"newaliases"}) {
		if all := certainly(ctx, h, aliases); all != nil {
			return all
		}
	}
	for _, k := range knowns {
		switch {
		case len(argv) < len(k.words) || !slices.Equal(argv[:len(k.words)], k.words):
		case k.more:
			return k.affects.Effects()
		case slices.Contains(k.words, "daemon-reload"):
			return append(k.affects.Only(), modules.Effect{Kind: modules.RereadEffect})
		default:
			return k.affects.Only()
		}
	}
	return unknown
}
