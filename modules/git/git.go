package git

import (
	"errors"
	"net/url"
	"regexp"
	"strings"
	"sync"

	"github.com/ccm-push/ccm-push/modules"
)

// A Git is a checkout. Its HEAD is detached: local branches in it are not changed.
type Git struct {
	Name       string `json:"name" required:"true" looks:"^/" doc:"absolute path of the checkout"`
	Ensure     string `json:"ensure,omitempty" enum:"present,absent" default:"present" doc:"absent: it is removed, unless it contains changes or commits that exist nowhere else"`
	Source     string `json:"source,omitempty" doc:"the repository: https, http, ssh, git or file as URL, user@host:path, or an absolute path on the host; required for present"`
	Revision   string `json:"revision,omitempty" text:"argument" doc:"a full commit id, which needs no network if it is already checked out; or a tag or a branch, which is looked up at the source; default: the branch that is the HEAD of the source"`
	Update     *bool  `json:"update,omitempty" doc:"false: a checkout that is there stays at its commit; default: true"`
	Depth      int    `json:"depth,omitempty" doc:"how many commits of the history to fetch; default: all"`
	Submodules bool   `json:"submodules,omitempty" doc:"check out the submodules too, as the commit has them"`
	User       string `json:"user,omitempty" doc:"name or id of the user that owns the checkout and runs git; default: the user that the play runs as"`
	Key        string `json:"key,omitempty" looks:"^/" doc:"absolute path, on the host, of the private key for ssh; default: the keys of the user"`
	Signers    string `json:"signers,omitempty" looks:"^/" doc:"absolute path, on the host, of a file of allowed signers as in ssh-keygen(1); a commit that none of them has signed is not checked out"`
	Force      bool   `json:"force,omitempty" doc:"update the checkout in spite of local changes: they are kept as a commit below refs/ccm-push/kept"`
	// Branch and Directory are set if the resource undoes another one: a branch was checked out, or an empty directory
	// existed.
	Branch    string `json:"branch,omitempty" wire:"only"`
	Directory bool   `json:"directory,omitempty" wire:"only"`

	reversal bool // it undoes another one
}

const (
	present = "present"
	absent  = "absent"
)

// Type is the entry of the registry.
func Type() modules.Type {
	return modules.Type{
		Name: "git",
		Doc: "Keeps a checkout of a git repository at a commit, a tag or a branch. Local changes in it " +
			"are never lost. Needs git on the host; for ssh, the host key of the server must be known there.",
		New: func() modules.Resource { return new(Git) },
	}
}

// Requires implements [modules.Requirer].
func (g *Git) Requires() modules.Requirements { return modules.Requirements{FullProgram: true} }

// Inform implements [modules.Informed].
func (g *Git) Inform(c modules.Circumstances) { g.reversal = c.Reversal }

// orForce is the hint to set force, if the manifest's author could do so.
func (g *Git) orForce(then string) string {
	if g.reversal {
		return ""
	}
	return " (" + then + ")"
}

var (
	commitID = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([0-9a-fA-F]{40}|[0-9a-fA-F]{64})$`) })
	// shortID matches an abbreviated commit id.
	shortID = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9a-f]*[0-9][0-9a-f]*$`) })
	// onHost is user@host:path, where no part can be taken for an option.
	onHost = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^([A-Za-z0-9_][A-Za-z0-9_.-]*@)?[A-Za-z0-9][A-Za-z0-9._-]*:[^:\s-][^:\s]*$`)
	})
)

// Validate implements [modules.Resource].
func (g *Git) Validate() error {
	errs := []error{
		modules.ValidatePath("name", g.Name), modules.ValidatePath("key", g.Key), modules.ValidatePath("signers", g.Signers),
		g.validateSource(), validateRevision(g.Revision),
	}
	if g.Name == "/" {
		errs = append(errs, modules.Errorf("name", "the root directory of the host cannot be a checkout"))
	}
	if g.Depth < 0 {
		errs = append(errs, modules.Errorf("depth", `"depth" must be 0 or more, not %d`, g.Depth))
	}
	return errors.Join(errs...)
}

func (g *Git) validateSource() error {
	const hint = "write https://host/path.git, ssh://user@host/path.git, user@host:path.git or an absolute path"
	wrong := func(msg string) error { return &modules.PropertyError{Path: "source", Msg: msg, Hint: hint} }
	switch {
	case g.Source == "" && g.Ensure == absent:
		return nil
	case g.Source == "":
		return wrong(`"source" cannot be empty`)
	case strings.ContainsAny(g.Source, "\x00\r\n"):
		return wrong(`"source" must be one line, without NUL bytes`)
	case strings.HasPrefix(g.Source, "/"):
		return modules.ValidatePath("source", g.Source)
	}
	scheme, _, isURL := strings.Cut(g.Source, "://")
	if !isURL {
		if onHost().MatchString(g.Source) {
			return nil
		}
		return wrong(`"source" is not a repository`)
	}
	u, err := url.Parse(g.Source)
	if err != nil {
		return wrong(`"source" is not a valid URL`)
	}
	switch scheme {
	case "file":
		if u.Host != "" || u.Path == "" {
			return wrong(`"source" is not a repository`)
		}
	case "https", "http", "ssh", "git":
		if u.Host == "" || strings.HasPrefix(u.Host, "-") || strings.HasPrefix(u.User.Username(), "-") {
			return wrong(`"source" names no host`)
		}
		if _, password := u.User.Password(); password || u.User != nil && scheme != "ssh" {
			return &modules.PropertyError{
				Path: "source", Msg: `a user or password in "source" would be seen in the arguments of git`,
				Hint: "remove it, and store it in the user's ~/.netrc or credential helper",
			}
		}
	default:
		return wrong(`"source" has the scheme ` + scheme + ", which is not supported")
	}
	return nil
}

// validateRevision refuses an invalid name of a reference (git-check-ref-format(1)), and an abbreviated commit, which
// may become ambiguous.
func validateRevision(name string) error {
	switch {
	case name == "" || commitID().MatchString(name):
		return nil
	case len(name) >= 7 && shortID().MatchString(name):
		return &modules.PropertyError{Path: "revision", Msg: "a shortened commit id is not a valid revision", Hint: "write the commit in full: 40 hex digits, as git rev-parse prints them"}
	case strings.HasPrefix(name, "-") || strings.HasPrefix(name, "/") || strings.ContainsAny(name, " \t\r\n\x00~^:?*[\\") ||
		strings.Contains(name, "..") || strings.Contains(name, "@{") || strings.HasSuffix(name, "/"):
		return modules.Errorf("revision", "%q is not a commit, tag or branch", name)
	}
	return nil
}

// Warnings implements [modules.Warner].
func (g *Git) Warnings() []*modules.PropertyError {
	if g.Ensure != absent && strings.HasPrefix(g.Source, "http://") && g.Signers == "" && !commitID().MatchString(g.Revision) {
		return []*modules.PropertyError{{Path: "source", Msg: "a transfer over http can be changed on the way", Hint: `write https, a commit as "revision", or "signers"`}}
	}
	return nil
}

// updates reports whether an existing checkout follows the revision.
func (g *Git) updates() bool { return g.Update == nil || *g.Update }
