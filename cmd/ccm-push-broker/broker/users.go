package broker

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/nats-io/nkeys"

	"github.com/ccm-push/ccm-push/playbooks/workers/queue"
)

// A User logs in with the seed of a key, and has the permissions of its role.
type User struct {
	Name, Key string
	Role      Role
	Sites     string // sites of a worker, as a JSON list; empty means all sites
}

// maxSites bounds the sites of a worker.
const maxSites = 100

// serves reports whether a worker may take tickets of the site with a token.
func (u User) serves(token string) bool {
	if u.Sites == "" {
		return true
	}
	list, err := parseSites(u.Sites)
	return err == nil && slices.ContainsFunc(list, func(site string) bool { return queue.SiteToken(site) == token })
}

// sitesText returns the text of a list of sites; none are all.
func sitesText(list []string) (string, error) {
	if list == nil {
		return "", nil
	}
	text, err := json.Marshal(list)
	if err == nil {
		_, err = parseSites(string(text))
	}
	return string(text), err
}

func parseSites(text string) (list []string, err error) {
	if err = json.Unmarshal([]byte(text), &list); err != nil || len(list) == 0 || len(list) > maxSites {
		return nil, fmt.Errorf("its sites are not a list of 1 to %d names", maxSites)
	}
	return list, nil
}

var userName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9._@-]*$`) })

const maxUserName = 100

// userFile returns the path of a user's public key.
func (b *Broker) userFile(name string) (string, error) {
	if !userName().MatchString(name) || strings.HasSuffix(name, ".new") || len(name) > maxUserName {
		return "", fmt.Errorf("user %q: write letters, digits and . _ @ - in a name", name)
	}
	return filepath.Join(b.Dir, "users", name), nil
}

// AddUser adds a user, and writes the seed that it logs in with to file, which must not exist. The seed is kept nowhere else. A
// worker takes tickets of sites only; none are all.
func (b *Broker) AddUser(name string, role Role, file string, sites ...string) error {
	path, err := b.userFile(name)
	if err != nil {
		return err
	}
	if len(sites) > 0 && role != Worker {
		return fmt.Errorf("sites are for the role worker, not for %s", role)
	}
	only, err := sitesText(sites)
	if err != nil {
		return err
	}
	if err := b.prepare(); err != nil {
		return err
	}
	if _, err := os.Stat(path); err == nil {
		return fmt.Errorf("the user %q already exists; to remove it: %s", name, b.removal(name))
	}
	pair, err := nkeys.CreateUser()
	if err != nil {
		return err
	}
	public, err := pair.PublicKey()
	if err != nil {
		return err
	}
	seed, err := pair.Seed()
	if err != nil {
		return err
	}
	out, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("writing what %s logs in with: %w", name, err)
	}
	_, err = out.Write(append(seed, '\n'))
	if err = errors.Join(err, out.Close()); err == nil {
		err = b.copyCA(CACopy(file))
	}
	if err == nil {
		err = b.writeUser(name, strings.TrimSpace(public+" "+string(role)+" "+only))
	}
	if err != nil {
		return errors.Join(err, os.Remove(file))
	}
	return nil
}

// CACopy returns the path of the copy of ca.pem next to the seed file of a user.
func CACopy(file string) string { return strings.TrimSuffix(file, filepath.Ext(file)) + ".pem" }

// copyCA copies ca.pem to a file that a user can read: it is not secret.
func (b *Broker) copyCA(to string) error {
	text, err := os.ReadFile(b.CA())
	if err != nil {
		return err
	}
	if there, err := os.ReadFile(to); err == nil && bytes.Equal(there, text) {
		return nil
	}
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return fmt.Errorf("copying the authority of the broker: %w", err)
	}
	_, err = out.Write(text)
	return errors.Join(err, out.Chmod(0o644), out.Close())
}

// removal returns the command that removes a user.
func (b *Broker) removal(name string) string {
	return "ccm-push-broker user remove " + name + " --dir " + b.Dir
}

// RemoveUser removes a user. A running broker closes the connections of that user.
func (b *Broker) RemoveUser(name string) error {
	path, err := b.userFile(name)
	if err != nil {
		return err
	}
	if err := os.Remove(path); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("unknown user %q in %s", name, b.Dir)
	} else if err != nil {
		return err
	}
	return nil
}

// Users returns the users, by name.
func (b *Broker) Users() ([]User, error) {
	entries, err := os.ReadDir(filepath.Join(b.Dir, "users"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var users []User
	for _, entry := range entries {
		if strings.HasSuffix(entry.Name(), ".new") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(b.Dir, "users", entry.Name()))
		if errors.Is(err, fs.ErrNotExist) {
			continue // it was removed meanwhile
		}
		if err != nil {
			return nil, err
		}
		user, err := parseUser(entry.Name(), string(text))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", filepath.Join(b.Dir, "users", entry.Name()), err)
		}
		if user.Key == "" {
			b.dropExpired(entry.Name())
			continue
		}
		users = append(users, user)
	}
	return users, nil
}

// parseUser reads the file of a user: his public key, and his role. Before there were roles it had
// none: those users may do everything. An invited user expires; the key is empty then.
func parseUser(name, text string) (User, error) {
	key, role, _ := strings.Cut(strings.TrimSpace(text), " ")
	if !nkeys.IsValidPublicUserKey(key) {
		return User{}, errors.New("it has no public key of a user")
	}
	if role == "" {
		return User{Name: name, Key: key, Role: Operator}, nil
	}
	if until, is := strings.CutPrefix(role, string(Invited)+" "); is {
		if expired(until, time.Now()) {
			key = ""
		}
		return User{Name: name, Key: key, Role: Invited}, nil
	}
	role, sites, limited := strings.Cut(role, " ")
	r, err := ParseRole(role)
	if err == nil && limited {
		if _, err = parseSites(sites); err == nil && r != Worker {
			err = errors.New("only a worker has sites")
		}
	}
	return User{name, key, r, sites}, err
}

// giveAway changes the owner of a file, which root may have made, to the owner of the folder: the broker runs as that
// user.
func (b *Broker) giveAway(path string) error {
	info, err := os.Stat(b.Dir)
	if err != nil {
		return err
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if os.Geteuid() != 0 || !ok || owner.Uid == 0 {
		return nil
	}
	return os.Lchown(path, int(owner.Uid), int(owner.Gid))
}
