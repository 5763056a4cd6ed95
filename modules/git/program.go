package git

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	shellquote "github.com/kballard/go-shellquote"

	"github.com/ccm-push/ccm-push/modules"
)

const (
	lookTime  = 2 * time.Minute // a question to the host, or to the source
	fetchTime = 2 * time.Hour
	maxAnswer = 4 << 20 // bytes that are read of an answer
)

// A repository may belong to any user, so no programs that a repository or its users have configured are run: no hooks
// and no file monitor. Filters are taken from the host's own configuration; a clone does not add any.
var settings = []string{
	"core.hooksPath=/dev/null",
	"core.fsmonitor=false",
	"safe.bareRepository=explicit", // ignore bare repositories inside the files
	"submodule.recurse=false",
	"protocol.ext.allow=never",
	"gc.autoDetach=false", // no background process outlives the resource
	"http.lowSpeedLimit=1", "http.lowSpeedTime=60",
	"advice.detachedHead=false",
}

// signed are the settings by which a commit counts as signed by one of a file of signers alone.
func signed(signers string) []string {
	return []string{
		"gpg.ssh.allowedSignersFile=" + signers, "gpg.ssh.program=ssh-keygen", "gpg.minTrustLevel=fully",
		"gpg.program=false", "gpg.openpgp.program=false", "gpg.x509.program=false", // keys of the user count for nothing
	}
}

// protocols of sources; the repository chooses the addresses of its submodules, so they may use fewer: it must not read
// another repository of the host
const (
	protocols          = "https:http:ssh:git:file"
	submoduleProtocols = "https:ssh:git:http"
)

// A program is the git of a host with the settings of one resource.
type program struct {
	g   *Git
	h   modules.Host
	dir string // repository; empty means none
}

// who returns the user for git: git runs as this user, with this user's home.
func (g *Git) who() string { return cmp.Or(g.User, strconv.Itoa(os.Geteuid())) }

func (p program) command(within time.Duration, words ...string) modules.Command {
	argv := []string{"git", "--no-pager"}
	for _, s := range settings {
		argv = append(argv, "-c", s)
	}
	if p.dir != "" {
		argv = append(argv, "-C", p.dir)
	}
	ssh := []string{"ssh", "-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=yes", "-o", "ConnectTimeout=30", "-o", "ServerAliveInterval=20"}
	if p.g.Key != "" {
		ssh = append(ssh, "-o", "IdentitiesOnly=yes", "-i", p.g.Key)
	}
	allowed := protocols
	if words[0] == "submodule" {
		allowed = submoduleProtocols
	}
	return modules.Command{
		Argv: append(argv, words...), User: p.g.who(), Timeout: within, MaxOutput: maxAnswer,
		Env: []string{
			"GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=", "GIT_ALLOW_PROTOCOL=" + allowed, "GIT_SSH_COMMAND=" + shellquote.Join(ssh...),
			"GIT_AUTHOR_NAME=ccm-push", "GIT_AUTHOR_EMAIL=ccm-push@localhost", "GIT_COMMITTER_NAME=ccm-push", "GIT_COMMITTER_EMAIL=ccm-push@localhost",
		},
	}
}

// ask runs a git command that only reads, without a lock.
func (p program) ask(ctx context.Context, words ...string) (modules.Exit, error) {
	c := p.command(lookTime, words...)
	c.Env = append(c.Env, "GIT_OPTIONAL_LOCKS=0")
	if p.dir != "" && words[0] != "ls-remote" && words[0] != "fetch" {
		c.Paths = []string{p.dir, "/etc/gitconfig"}
	}
	exit, err := p.h.Commands.Probe(ctx, c)
	if err == nil && exit.Stdout.Dropped > 0 {
		err = fmt.Errorf("git %s printed more than %d MiB", words[0], maxAnswer>>20)
	}
	return exit, err
}

// answer returns the output of a git command, which must succeed.
func (p program) answer(ctx context.Context, words ...string) (string, error) {
	exit, err := p.ask(ctx, words...)
	if err == nil && exit.Code != 0 {
		err = failed(words[0], exit)
	}
	return exit.Stdout.Text, err
}

// do runs a git command that changes something, as the user of the resource.
func (p program) do(ctx context.Context, words ...string) (string, error) {
	c := p.command(fetchTime, words...)
	c.Follow = true
	exit, err := p.h.Commands.Run(ctx, c)
	if err == nil && exit.Code != 0 {
		err = failed(words[0], exit)
	}
	return exit.Stdout.Text, err
}

// failed is the error of a failed git command, with the paths that it names.
func failed(word string, exit modules.Exit) error {
	lines := strings.Split(strings.TrimSpace(exit.Stderr.Text), "\n")
	said := lines[len(lines)-1]
	for i, line := range lines {
		rest, fatal := strings.CutPrefix(line, "fatal: ")
		if !fatal {
			if rest, fatal = strings.CutPrefix(line, "error: "); !fatal {
				continue
			}
		}
		said = rest
		if i > 0 && strings.HasPrefix(rest, "Could not read from remote") { // ssh has printed the cause
			said = lines[i-1]
		}
		for _, more := range lines[i+1:] {
			if !strings.HasPrefix(more, "\t") {
				break
			}
			said += " " + strings.TrimSpace(more)
		}
		break
	}
	switch said = strings.TrimSpace(said); {
	case said == "":
		return fmt.Errorf("git %s ends with %d", word, exit.Code)
	case strings.HasPrefix(said, "Host key verification failed"):
		return fmt.Errorf("git %s: the known_hosts file of the user does not have the host key of the server, or has another key (add the key with a known_host resource)", word)
	}
	return fmt.Errorf("git %s: %s", word, said)
}
