package parcel

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/playbooks/workers/privatekey"
)

// An owned recognizes files of the operator, which no worker gets, under any name.
type owned struct {
	infos []fs.FileInfo   // files and folders
	ids   map[string]bool // ids of private keys, see [privatekey.Key]
	sums  map[[sha256.Size]byte]bool
}

// neverSent are names of files and folders that belong to a person: keys, passwords, histories. A worker never gets them. "*" matches
// any text.
var neverSent = []string{
	".ssh", ".gnupg", ".pki", ".password-store", ".aws", ".azure", ".oci", ".kube", ".docker", ".dockercfg", ".netrc", "_netrc", ".authinfo*", ".vault_pass*", ".vault-pass*",
	".vault_token", ".vault-token", ".git-credentials", ".pgpass", ".my.cnf", ".mylogin.cnf", ".npmrc", ".yarnrc*", ".pypirc", ".gem", ".cargo", ".m2", ".terraformrc", ".terraform.d",
	".boto", ".s3cfg", ".passwd-s3fs", ".smbcredentials", ".curlrc", ".wgetrc", ".rclone.conf", ".config", ".local", ".mozilla", ".thunderbird", ".*history", ".*_history-*", ".viminfo",
	".lesshst", ".Xauthority", ".ICEauthority", ".k5login", ".rhosts", ".shosts", ".env", ".env.*", ".envrc", ".git", ".hg", ".svn", ".bzr", ".age", ".sops", ".nsc", ".nkeys", ".step",
	".fetchmailrc", ".msmtprc", ".muttrc", ".ansible", ".databrickscfg", ".snowflake", ".databricks", ".fly", ".doctl", ".linode-cli",
}

func isHidden(name string) bool { return strings.HasPrefix(name, ".") && name != "." && name != ".." }

// isNeverSent reports whether a path has a part that no worker gets.
func isNeverSent(name string) (part string, is bool) {
	for part := range strings.SplitSeq(filepath.ToSlash(name), "/") {
		lower := strings.ToLower(part)
		if slices.ContainsFunc(neverSent, func(pattern string) bool {
			is, _ := filepath.Match(strings.ToLower(pattern), lower) // the patterns are valid
			return is
		}) {
			return part, true
		}
	}
	return "", false
}

// maxOwned bounds a file of the operator that is compared by its content, in bytes.
const maxOwned = 1 << 20

// newOwned recognizes the files of paths, copies of them, and the private keys with ids.
func newOwned(ids, paths []string) owned {
	o := owned{ids: map[string]bool{}, sums: map[[sha256.Size]byte]bool{}}
	for _, id := range ids {
		o.ids[id] = true
	}
	for _, path := range paths {
		if path == "" {
			continue
		}
		for _, look := range []func(string) (fs.FileInfo, error){os.Lstat, os.Stat} {
			if info, err := look(path); err == nil {
				o.infos = append(o.infos, info)
			}
		}
		o.learn(path)
	}
	return o
}

// learn records the content of a file, and the keys in it; for a folder, of the files directly in it.
func (o *owned) learn(path string) {
	info, err := os.Stat(path)
	if err != nil {
		return
	}
	if info.IsDir() {
		entries, _ := os.ReadDir(path)
		for _, e := range entries {
			if e.Type().IsRegular() {
				o.learn(filepath.Join(path, e.Name()))
			}
		}
		return
	}
	if !info.Mode().IsRegular() || info.Size() > maxOwned {
		return
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return
	}
	const shortest = 8 // bytes: less is in too many files
	if text := bytes.TrimSpace(data); len(text) >= shortest {
		o.sums[sha256.Sum256(text)] = true
	}
	keys, _ := privatekey.Find(data)
	for _, key := range keys {
		for _, id := range key.IDs {
			o.ids[id] = true
		}
	}
}

// path returns why no worker gets a file, by its path; empty means that workers may get it.
func (o *owned) path(c candidate) string {
	for _, name := range []string{c.name, c.target()} {
		if part, is := isNeverSent(name); is {
			return part + " belongs to a person"
		}
	}
	if c.by == unnamed && slices.ContainsFunc(strings.Split(c.target(), "/"), isHidden) {
		return "it is a link to a hidden file"
	}
	at := c.path
	for range strings.Count(filepath.ToSlash(c.name), "/") + 1 { // within the folder of the manifest
		for _, look := range []func(string) (fs.FileInfo, error){os.Lstat, os.Stat} {
			info, err := look(at)
			if err == nil && slices.ContainsFunc(o.infos, func(one fs.FileInfo) bool { return os.SameFile(one, info) }) {
				return "it is an inventory, key or password file of the operator, or is in the folder of such a file"
			}
		}
		if at = filepath.Dir(at); c.by != unnamed { // a play may name a file in the folder of its inventory
			break
		}
	}
	return ""
}

// target returns the path of the file that a candidate leads to by links, below the folder of the candidate if it is there.
func (c candidate) target() string {
	target, err := filepath.EvalSymlinks(c.path)
	if err != nil {
		return c.name
	}
	if folder, err := filepath.EvalSymlinks(strings.TrimSuffix(c.path, filepath.FromSlash(c.name))); err == nil {
		if below, err := filepath.Rel(folder, target); err == nil && filepath.IsLocal(below) {
			target = below
		}
	}
	return filepath.ToSlash(target)
}

// content returns why no worker gets a file, by its content. note is a remark about a file that goes.
func (o *owned) content(data []byte, named bool) (why, note string) {
	if o.sums[sha256.Sum256(bytes.TrimSpace(data))] {
		return "it is a copy of a file of the operator", ""
	}
	keys, whole := privatekey.Find(data)
	for _, key := range keys {
		if slices.ContainsFunc(key.IDs, func(id string) bool { return o.ids[id] }) {
			return fmt.Sprintf("it has a private key that hosts are logged in to with, or that certifies or signs (%s)", key.Format), ""
		}
	}
	switch {
	case len(keys) > 0 && !named:
		return fmt.Sprintf("it has a private key (%s), and the play does not name it", keys[0].Format), ""
	case len(keys) > 0:
		return "", fmt.Sprintf("it has a private key (%s)", keys[0].Format)
	case !whole && !named:
		return "it cannot be searched for private keys", ""
	}
	return "", ""
}
