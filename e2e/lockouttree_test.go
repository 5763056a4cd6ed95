//go:build e2e

package e2e

import (
	"crypto/sha256"
	"encoding/binary"
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

// kept are the places of a host that a lock-out may change, and that a revert must restore.
var kept = []string{"/etc", "/home/deploy", "/root"}

// A tree is the content of those places: kind, mode, owner, content and extended attributes by path. Names without a
// slash have the state of the kernel and the init.
type tree map[string]string

// marked are files among them, and folders of such, that have extended attributes.
const marked = "/etc/ssh /etc/pam.d /etc/sudoers /etc/sudoers.d /etc/nftables.conf /etc/network /etc/passwd /etc/shadow /home/deploy/.ssh"

// marks sets an extended attribute and an access list of files of a host, without changing their mode.
func (f *fleet) marks(host string, paths ...string) {
	f.Helper()
	require.NotEmpty(f, paths)
	for _, path := range paths {
		path = f.outside(host, path)
		info, err := os.Stat(path)
		require.NoError(f, err)
		require.NoError(f, unix.Setxattr(path, "user.e2e", []byte("of "+info.Name()), 0))
		list := []byte{2, 0, 0, 0}
		for _, entry := range []struct { // the owner, user 7, the owning group, the mask and others (acl(5))
			tag, may byte
			id       uint32
		}{{1, byte(info.Mode() >> 6 & 7), ^uint32(0)}, {2, 6, 7}, {4, 0, ^uint32(0)}, {16, byte(info.Mode() >> 3 & 7), ^uint32(0)}, {32, byte(info.Mode() & 7), ^uint32(0)}} {
			list = binary.LittleEndian.AppendUint32(append(list, entry.tag, 0, entry.may, 0), entry.id)
		}
		require.NoError(f, unix.Setxattr(path, "system.posix_acl_access", list, 0))
		now, err := os.Stat(path)
		require.NoError(f, err)
		require.Equal(f, info.Mode(), now.Mode(), path)
	}
}

// attributes returns the attributes of files of a host.
func (f *fleet) attributes(host string, paths ...string) (all []string) {
	f.Helper()
	for _, path := range paths {
		text, err := attributesOf(f.outside(host, path))
		require.NoError(f, err)
		all = append(all, path+text)
	}
	return all
}

// outside returns the machine's path of a host's path.
func (f *fleet) outside(host, path string) string {
	return filepath.Join("/proc", f.outsidePID(host, "1"), "root", path)
}

// running prints how a host can be reached at the moment.
const running = `ip -4 -o address show dev eth0 | sed 's/ *valid_lft.*//'; ip -o link show dev eth0 | grep -o 'state [A-Z]*'
ip -4 route; nft list ruleset; systemctl is-enabled ssh networking nftables 2>/dev/null; systemctl is-active ssh networking nftables 2>/dev/null
getent passwd deploy; awk '$4 == "0A" {print $2}' /proc/net/tcp | sort; :`

// tree looks at a host from outside, past its own programs.
func (f *fleet) tree(host string) tree {
	f.Helper()
	all := tree{"running": f.sh(host, running)}
	root := f.outside(host, "/")
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

// nodeAt describes the object at a path.
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

// attributesOf returns the extended attributes of a file or directory, except attributes of the overlay.
func attributesOf(path string) (string, error) {
	names := make([]byte, 4096)
	n, err := unix.Llistxattr(path, names)
	if err != nil {
		return "", err
	}
	var text strings.Builder
	for _, name := range slices.Sorted(strings.SplitSeq(strings.Trim(string(names[:n]), "\x00"), "\x00")) { // in any order
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

// requireEqual fails the test with the differences between two trees.
func (t tree) requireEqual(f *fleet, want tree, of string) {
	f.Helper()
	var text strings.Builder
	for _, path := range t.differs(want) {
		fmt.Fprintf(&text, "%s\n  was: %s\n  is:  %s\n", path, want[path], t[path])
	}
	require.Empty(f, text.String(), of)
}
