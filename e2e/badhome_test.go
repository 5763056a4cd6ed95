//go:build e2e

package e2e

import (
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	allPlaces  = "/home/deploy /tmp /var/tmp"
	unmountAll = "umount /home/deploy; umount /tmp; umount /var/tmp"
	needsDir   = "    hint: one of ~/.cache/ccm-push, /var/tmp/ccm-push-UID and /tmp/ccm-push-UID must be a directory of the user with mode 0700, or the user must be able to create it"
)

// The host program goes to /var/tmp or /tmp when the home directory cannot hold
// it.
var badHomes = []badHost{
	{
		name: "not writable", breaks: "chown root /home/deploy; chmod 555 /home/deploy", mends: "chown deploy /home/deploy; chmod 755 /home/deploy",
		want: wellDone,
	},
	{name: "missing", breaks: "mv /home/deploy /home/gone", mends: "mv /home/gone /home/deploy", want: wellDone},
	{
		name: "mounted noexec", breaks: "mount -t tmpfs -o noexec tmpfs /home/deploy && chown deploy /home/deploy", mends: "umount /home/deploy",
		want: wellDone,
	},
	{
		name: "mounted read-only", breaks: "mount --bind /home/deploy /home/deploy && mount -o remount,ro,bind /home/deploy", mends: "umount /home/deploy",
		want: wellDone,
	},
	{
		name: "missing, and nothing else writable", breaks: "mv /home/deploy /home/gone; chmod 755 /tmp /var/tmp", mends: "mv /home/gone /home/deploy; chmod 1777 /tmp /var/tmp",
		code: 2, want: failedAt("install", "the host program was not installed: no directory can hold it (last tried \"/tmp/ccm-push-1000\")\n"+needsDir),
	},
	{
		name: "all mounted noexec", breaks: "for d in " + allPlaces + "; do mount -t tmpfs -o noexec,mode=1777 tmpfs $d; done; chown deploy /home/deploy", mends: unmountAll,
		code: 2, want: failedAt("install", "the host program was not installed: every directory that could hold it is mounted noexec (last tried \"/tmp/ccm-push-1000\")\n"+
			"    hint: make ~/.cache/ccm-push, /var/tmp or /tmp a place where programs can be executed"),
	},
	{
		name: "all mounted read-only", breaks: "for d in " + allPlaces + "; do mount --bind $d $d && mount -o remount,ro,bind $d; done", mends: unmountAll,
		code: 2, want: failedAt("install", "the host program was not installed: no directory can hold it, and one is on a read-only file system (last tried \"/tmp/ccm-push-1000\")\n"+
			"    hint: the user must be able to write to ~/.cache/ccm-push, /var/tmp or /tmp"),
	},
	{
		name: "full", breaks: "mkdir -m 700 /home/deploy/.cache && mount -t tmpfs -o size=64k tmpfs /home/deploy/.cache && chown deploy /home/deploy/.cache && chmod 700 /home/deploy/.cache",
		mends: "umount /home/deploy/.cache", want: wellDone,
	},
	{
		name: "all full", breaks: "for d in " + allPlaces + "; do mount -t tmpfs -o size=64k,mode=1777 tmpfs $d; done; chown deploy /home/deploy", mends: unmountAll,
		code: 2, want: failedAt("install", "no space left on the host (last tried \"/tmp/ccm-push-1000\")\n    hint: about 10 MB are needed in ~/.cache/ccm-push, /var/tmp or /tmp"),
	},
	{
		name: "full, for root by way of sudo", breaks: "mkdir -m 700 /root/.cache && mount -t tmpfs -o size=64k,mode=700 tmpfs /root/.cache",
		mends: "umount /root/.cache", args: []string{"-b", "h001", "exec", "echo hello"}, want: wellDone,
	},
	{
		name: "a link to somebody else's", breaks: "ln -s /tmp /home/deploy/.cache", mends: "rm -f /home/deploy/.cache; rm -rf /tmp/ccm-push",
		want: wellDone,
	},
}

func TestFleetBadHomes(t *testing.T) {
	f := startFleet(t)
	for _, b := range badHomes {
		t.Run(b.name, func(t *testing.T) { b.test(t, f) })
	}
}

// sitePlay returns the output for a play on h001 in which one resource failed.
func sitePlay(reference, text string) string {
	return "== site: 1 host\nh001  failed   " + reference + "\n    " + text + "\n    site.yaml:1:28: the resource is defined here\n\n" +
		"h001: 0 changed, 0 stable, 1 failed (failed: " + reference + ", TIME)\n1 host: 0 ok, 1 failed; 1 resource: 0 changed, 0 stable, 1 failed; TIME\n"
}

// A wrong place or owner of a file fails that file.
func TestFleetBadFiles(t *testing.T) {
	f := startFleet(t)
	site := func(owner string) string {
		return "ccm: {resources: [{file: [{/mnt/bad/big: {source: files/big, owner: " + owner + ", group: root, mode: '0644'}}]}]}\n"
	}
	for _, b := range []struct {
		badHost
		site string
	}{
		{badHost{name: "full disk", breaks: "mkdir -p /mnt/bad && mount -t tmpfs -o size=8k tmpfs /mnt/bad", mends: "umount /mnt/bad",
			want: sitePlay("file#/mnt/bad/big", "write /mnt/bad/big: no space left on device after 8.0 KiB")}, site("root")},
		{badHost{name: "read-only directory", breaks: "mkdir -p /mnt/bad && mount -t tmpfs -o ro tmpfs /mnt/bad", mends: "umount /mnt/bad",
			want: sitePlay("file#/mnt/bad/big", "the file system of \"/mnt/bad\" is mounted read-only")}, site("root")},
		{badHost{name: "no directory", breaks: "rm -rf /mnt/bad", mends: ":",
			want: sitePlay("file#/mnt/bad/big", "the directory \"/mnt/bad\" does not exist (create it with a file resource that has ensure: directory)")}, site("root")},
		{badHost{name: "unknown owner", breaks: "mkdir -p /mnt/bad", mends: "rmdir /mnt/bad",
			want: sitePlay("file#/mnt/bad/big", "owner: user \"nobody-at-all\": no such account")}, site("nobody-at-all")},
		{badHost{name: "unknown user of a command", breaks: ":", mends: ":",
			want: sitePlay("exec#id", "user: user \"nobody-at-all\": no such account")}, "ccm: {resources: [{exec: [{id: {user: nobody-at-all}}]}]}\n"},
	} {
		t.Run(b.name, func(t *testing.T) {
			b.user, b.args, b.code = "root", []string{"-l", "h001", "site.yaml"}, 2
			write(t, f.path("site.yaml"), b.site)
			b.test(t, f)
			if b.name == "full disk" { // which only writing shows
				require.Empty(t, f.sh("h001", "ls -A /mnt/bad"), "a part of a file was left")
				return
			}
			r := f.push("-i", "root.yaml", "-l", "h001", "--check", "site.yaml")
			r.requireCode(t, 2)
			require.Contains(t, r.stdout, "0 stable, 1 failed", "a check run promises what cannot be")
		})
	}
}
