package broker

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"github.com/nats-io/nkeys"
)

// A User may log in with the seed of a key.
type User struct{ Name, Key string }

var userName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9._@-]*$`) })

// userFile is where the public key of a user is.
func (b *Broker) userFile(name string) (string, error) {
	if !userName().MatchString(name) || strings.HasSuffix(name, ".new") {
		return "", fmt.Errorf("user %q: write letters, digits and . _ @ - in a name", name)
	}
	return filepath.Join(b.Dir, "users", name), nil
}

// AddUser lets somebody in who has the seed that it writes to file, which must not be there. The seed
// is kept nowhere else.
func (b *Broker) AddUser(name, file string) error {
	path, err := b.userFile(name)
	if err != nil {
		return err
	}
	if err := b.prepare(); err != nil {
		return err
	}
	if _, err := os.Stat(path); err == nil {
		return fmt.Errorf("there is a user %q already; user remove %s takes it away", name, name)
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
		err = writeWhole(path, []byte(public+"\n"))
	}
	if err != nil {
		return errors.Join(err, os.Remove(file))
	}
	return nil
}

// RemoveUser lets somebody in no more. A broker that runs ends his connections.
func (b *Broker) RemoveUser(name string) error {
	path, err := b.userFile(name)
	if err != nil {
		return err
	}
	if err := os.Remove(path); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no user %q in %s", name, b.Dir)
	} else if err != nil {
		return err
	}
	return nil
}

// Users are those who may log in, by name.
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
		key := strings.TrimSpace(string(text))
		if !nkeys.IsValidPublicUserKey(key) {
			return nil, fmt.Errorf("%s: it has no public key of a user", filepath.Join(b.Dir, "users", entry.Name()))
		}
		users = append(users, User{entry.Name(), key})
	}
	return users, nil
}
