//go:build e2e

package e2e

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// kept are the places of a host that a lock-out may change, and that are to be as before when it
// has been taken back.
var kept = []string{"/etc", "/home/deploy", "/root"}

// A tree is what those places hold: by path its kind, mode, owner, content and extended attributes.
// Under names without a slash it has what the kernel and the init know besides.
type tree map[string]string

// running is how a host can be reached at the moment, in as many words.
const running = `ip -4 -o address show dev eth0 | sed 's/ *valid_lft.*//'; ip -o link show dev eth0 | grep -o 'state [A-Z]*'
ip -4 route; nft list ruleset; systemctl is-enabled ssh networking nftables 2>/dev/null; systemctl is-active ssh networking nftables 2>/dev/null
getent passwd deploy; awk '$4 == "0A" {print $2}' /proc/net/tcp | sort; :`

// tree looks at a host from outside, past its own programs.
func (f *fleet) tree(host string) tree {
	f.Helper()
	all := tree{"running": f.sh(host, running)}
	root := filepath.Join("/proc", f.outsidePID(host, "1"), "root")
	for _, place := range kept {
		err := filepath.WalkDir(root+place, func(path string, entry fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			name := strings.TrimPrefix(path, root)
			if err != nil {
				return err
			}
			switch name {
			case "/home/deploy/.cache", "/root/.cache": // where the host program is
				return fs.SkipDir
			case "/etc/passwd-", "/etc/shadow-", "/etc/group-", "/etc/gshadow-", "/etc/.pwd.lock": // usermod's own
				return nil
			}
			all[name], err = nodeAt(path, entry)
			return err
		})
		require.NoError(f, err)
	}
	return all
}

// nodeAt says what is at a path.
func nodeAt(path string, entry fs.DirEntry) (string, error) {
	info, err := entry.Info()
	if err != nil {
		return "", err
	}
	stat := info.Sys().(*syscall.Stat_t)
	text := fmt.Sprintf("%v %d:%d", info.Mode(), stat.Uid, stat.Gid)
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := os.Readlink(path)
		return text + " -> " + target, err
	case info.Mode().IsRegular():
		content, err := os.ReadFile(path)
		if err != nil {
			return "", err
		}
		text += fmt.Sprintf(" %x", sha256.Sum256(content))
	}
	attributes, err := attributesOf(path)
	return text + attributes, err
}

// attributesOf gives the extended attributes of a file or directory, but for those of the overlay.
func attributesOf(path string) (string, error) {
	names := make([]byte, 4096)
	n, err := unix.Llistxattr(path, names)
	if err != nil {
		return "", err
	}
	var text strings.Builder
	for name := range strings.SplitSeq(strings.Trim(string(names[:n]), "\x00"), "\x00") {
		if name == "" || strings.HasPrefix(name, "trusted.overlay.") {
			continue
		}
		value := make([]byte, 4096)
		n, err := unix.Lgetxattr(path, name, value)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&text, " %s=%q", name, value[:n])
	}
	return text.String(), nil
}

// differs are the paths that are not as in another tree, sorted.
func (t tree) differs(other tree) []string {
	paths := map[string]bool{}
	for path, text := range t {
		if other[path] != text {
			paths[path] = true
		}
	}
	for path := range other {
		if _, found := t[path]; !found {
			paths[path] = true
		}
	}
	return slices.Sorted(maps.Keys(paths))
}

// requireEqual says where a tree differs, and how.
func (t tree) requireEqual(f *fleet, want tree, of string) {
	f.Helper()
	var text strings.Builder
	for _, path := range t.differs(want) {
		fmt.Fprintf(&text, "%s\n  was: %s\n  is:  %s\n", path, want[path], t[path])
	}
	require.Empty(f, text.String(), of)
}
