package sshconfig

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// write makes files below a new folder, which $DIR stands for in them.
func write(t testing.TB, files map[string]string) (dir string) {
	dir = t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(strings.ReplaceAll(text, "$DIR", dir)), 0o644))
		require.NoError(t, os.Chmod(path, 0o644))
	}
	return dir
}

func environment(home string) Environment {
	return Environment{LocalUser: "me", UID: 1000, Home: home, LocalHost: "desk.example.com", LookupEnv: lookupEnv}
}

// requireErrors compares whole texts, with $DIR for the folder.
func requireErrors(t testing.TB, dir, want string, err error) {
	t.Helper()
	require.Error(t, err)
	require.Equal(t, want, strings.ReplaceAll(err.Error(), dir, "$DIR"))
}

func TestMistakes(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"one of each", "Port x\nUser\nUser \"\"\nUser a b\nUser \"a\nIdentitiesOnly maybe\nAddressFamily ipx\nConnectTimeout 1y\nServerAliveCountMax -1\n", `
$DIR/config:1: port: "x" is not a port
$DIR/config:2: user has no argument
$DIR/config:3: user: an argument is missing
$DIR/config:4: user: "b" follows the argument
$DIR/config:5: user: a quote is not closed
$DIR/config:6: identitiesonly: "maybe" is not one of yes, true, no, false
$DIR/config:7: addressfamily: "ipx" is not one of any, inet, inet6
$DIR/config:8: connecttimeout: "1y" is not a time such as 90 or 1m30s
$DIR/config:9: serveralivecountmax: "-1" is not a number from 0`},
		{"blocks", "Host \"\"\nHost \"a\nMatch\nMatch colour red\nMatch host\nMatch all host x\nMatch localnetwork 10.0.0.0/33\n", `
$DIR/config:1: host: an argument is missing
$DIR/config:2: host: a quote is not closed
$DIR/config:3: match has no argument
$DIR/config:4: match: unknown criterion "colour"
$DIR/config:5: match: host lacks its argument
$DIR/config:6: match: "all" cannot be combined with other criteria
$DIR/config:7: match: localnetwork: "10.0.0.0/33" is not an address or network`},
		{"ways", "ProxyJump a,,b\nProxyJump u@:22\nUserKnownHostsFile a none\nCiphers +\nCiphers a,,b\n", `
$DIR/config:1: proxyjump: "" is not a host such as user@host:22
$DIR/config:2: proxyjump: "u@:22" is not a host such as user@host:22
$DIR/config:3: userknownhostsfile: "none" cannot be combined with other files
$DIR/config:4: ciphers: the list is empty
$DIR/config:5: ciphers: the list has an empty or a negated name`},
		{"includes", "Include \"\"\nInclude $DIR/[\nInclude ~nobody-has-this-name/x\nInclude \"a\n", `
$DIR/config:1: include: an argument is missing
$DIR/config:2: include: "$DIR/[" is not a pattern for files
$DIR/config:3: include: "~nobody-has-this-name/x": unknown user "nobody-has-this-name"
$DIR/config:4: include: a quote is not closed`},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := write(t, map[string]string{"config": c.text})
			_, err := Load(environment(dir), File{Path: filepath.Join(dir, "config"), User: true, Named: true})
			requireErrors(t, dir, strings.TrimPrefix(c.want, "\n"), err)
		})
	}
}

func TestIncludes(t *testing.T) {
	deep := map[string]string{"config": "Include $DIR/f1\n"}
	for i := range 20 {
		deep[fmt.Sprintf("f%d", i)] = fmt.Sprintf("Include $DIR/f%d\n", i+1)
	}
	for _, c := range []struct {
		name  string
		files map[string]string
		want  string
	}{
		{"itself", map[string]string{"config": "Include $DIR/config\n"}, "$DIR/config:1: include: the files lead in a circle: $DIR/config -> $DIR/config"},
		{"a circle", map[string]string{"config": "Include $DIR/a", "a": "\nInclude $DIR/b", "b": "Include $DIR/a"}, "$DIR/b:1: include: the files lead in a circle: $DIR/a -> $DIR/b -> $DIR/a"},
		{"too deep", deep, "$DIR/f16:1: include: files are included 17 deep"},
		{"a mistake in it", map[string]string{"config": "Host x\n Include $DIR/a", "a": "Port 0"}, `$DIR/a:1: port: "0" is not a port`},
		{"too many", map[string]string{"config": strings.Repeat("Include $DIR/a\n", 5000), "a": "#"}, "$DIR/config:4097: include: more than 4096 files are included"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := write(t, c.files)
			_, err := Load(environment(dir), File{Path: filepath.Join(dir, "config"), User: true, Named: true})
			requireErrors(t, dir, c.want, err)
		})
	}
}

func TestRelativeIncludes(t *testing.T) {
	dir := write(t, map[string]string{
		"home/.ssh/config": "Include more\n", "home/.ssh/more": "User of-user\n",
		"etc/ssh_config": "Include d/*.conf\n", "etc/d/a.conf": "Port 1001\n", "etc/d/b": "Port 1002\n",
	})
	c, err := Load(environment(dir+"/home"), File{Path: dir + "/home/.ssh/config", User: true}, File{Path: dir + "/etc/ssh_config"})
	require.NoError(t, err)
	s, err := c.Resolve(Query{Host: "web1"})
	require.NoError(t, err)
	require.Equal(t, []string{"of-user", "1001"}, []string{s.Text(User), s.Text(Port)})
	require.Equal(t, dir+"/home/.ssh/more:1", s.Origin(User))
	require.Equal(t, dir+"/etc/d/a.conf:1", s.Origin(Port))

	dir = write(t, map[string]string{"ssh_config": "Include ~/x\n"})
	_, err = Load(environment(dir), File{Path: dir + "/ssh_config"})
	requireErrors(t, dir, `$DIR/ssh_config:1: include: "~/x": a file for all users cannot lead to ~`, err)
}

// TestWhoMayWrite follows ssh: the user's file and all included files must be safe; a named file need not be.
func TestWhoMayWrite(t *testing.T) {
	dir := write(t, map[string]string{"config": "Port 1001\n", "includes": "Include $DIR/config\n"})
	load := func(f File) error {
		_, err := Load(environment(dir), f)
		return err
	}
	require.NoError(t, load(File{Path: dir + "/config", User: true}))
	require.NoError(t, os.Chmod(dir+"/config", 0o664))
	const hint = "\n  hint: chmod go-w $DIR/config, or name it with --ssh-config"
	requireErrors(t, dir, "$DIR/config: other users can write to it, or it belongs to another user"+hint, load(File{Path: dir + "/config", User: true}))
	require.NoError(t, load(File{Path: dir + "/config", User: true, Named: true}))
	requireErrors(t, dir, "$DIR/includes:1: include: $DIR/config: other users can write to it, or it belongs to another user"+hint, load(File{Path: dir + "/includes", User: true, Named: true}))
	if os.Getuid() == 0 {
		require.NoError(t, os.Chmod(dir+"/config", 0o644))
		require.NoError(t, os.Chown(dir+"/config", 12345, 12345))
		requireErrors(t, dir, "$DIR/config: other users can write to it, or it belongs to another user"+hint, load(File{Path: dir + "/config", User: true}))
	}
}

func TestMissingFiles(t *testing.T) {
	dir := t.TempDir()
	c, err := Load(environment(dir), File{Path: dir + "/none", User: true}, File{Path: dir + "/none-either"})
	require.NoError(t, err)
	s, err := c.Resolve(Query{Host: "Web1"})
	require.NoError(t, err)
	require.Equal(t, "web1", s.Host())
	_, err = Load(environment(dir), File{Path: dir + "/none", User: true, Named: true})
	requireErrors(t, dir, "$DIR/none: reading it: no such file or directory", err)
}

// TestPipes: an included pipe is refused, since it may never get a writer. A named pipe is read.
func TestPipes(t *testing.T) {
	dir := write(t, map[string]string{"config": "Include $DIR/pipe /dev/null $DIR\nPort 5\n"})
	require.NoError(t, syscall.Mkfifo(dir+"/pipe", 0o600))
	_, err := Load(environment(dir), File{Path: dir + "/config", User: true})
	requireErrors(t, dir, "$DIR/config:1: include: $DIR/pipe: it is not a regular file", err)

	var writing sync.WaitGroup
	writing.Go(func() { os.WriteFile(dir+"/pipe", []byte("Port 6\n"), 0) })
	c, err := Load(environment(dir), File{Path: dir + "/pipe", User: true, Named: true})
	writing.Wait()
	require.NoError(t, err)
	s, err := c.Resolve(Query{Host: "a"})
	require.NoError(t, err)
	require.Equal(t, "6", s.Text(Port))
}

// TestReadOnce reads no file twice, however often it is included.
func TestReadOnce(t *testing.T) {
	dir := write(t, map[string]string{"config": "Include $DIR/a $DIR/a\n"})
	path := dir + "/a"
	require.NoError(t, os.WriteFile(path, []byte("Port 5\n"), 0o600))
	l := &loader{config: &Config{env: environment(dir)}, texts: map[string][]string{}}
	_, err := l.read(path, false, true)
	require.NoError(t, err)
	require.NoError(t, os.Remove(path))
	lines, err := l.read(path, false, true)
	require.NoError(t, err)
	require.Equal(t, []string{"Port 5", ""}, lines)
}
