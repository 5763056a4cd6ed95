package workers

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base32"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
	"golang.org/x/crypto/ssh"

	"github.com/ccm-push/ccm-push/playbooks/workers/keyring"
	"github.com/ccm-push/ccm-push/playbooks/workers/queue"
	"github.com/ccm-push/ccm-push/playbooks/workers/sealing"
)

// An invitation makes a machine a worker. The controller makes a token. The machine that has it sends its public keys,
// sealed with the secret of the token. Both machines show a fingerprint of the whole exchange, and a person compares
// the two before the broker and the lists get the keys.

// An Invitation is the content of a token.
type Invitation struct {
	Secret      []byte    `json:"s"`
	URL         string    `json:"u"`           // URL of the broker
	CA          []byte    `json:"a,omitempty"` // DER of the authority that signs the broker's certificate; empty means the system's
	Coordinator []byte    `json:"c"`           // public key of the controller
	Name        string    `json:"n"`           // name of the controller in lists
	Site        string    `json:"p,omitempty"`
	Until       time.Time `json:"t"`
}

const (
	tokenPrefix  = "ccm-push-join-1."
	maxToken     = 64 << 10
	secretSize   = 32
	maxJoinName  = 64
	admittedText = "admitted"
)

// NewInvitation makes the invitation of a controller with a name. ca is the PEM text of the broker's authority, or empty.
func NewInvitation(url string, ca []byte, controller keyring.Key, name, site string) (*Invitation, error) {
	i := &Invitation{
		Secret: make([]byte, secretSize), URL: url, Coordinator: controller.PublicKey().Marshal(), Name: name, Site: site,
		Until: time.Now().Add(queue.InviteTime).Truncate(time.Second).UTC(),
	}
	_, _ = rand.Read(i.Secret) // it never fails
	if !validName(name) {
		i.Name = "controller"
	}
	if len(ca) > 0 {
		block, _ := pem.Decode(ca)
		if block == nil {
			return nil, errors.New("the file of the broker's authority has no certificate in PEM")
		}
		i.CA = block.Bytes
	}
	return i, i.validate()
}

// Token returns the text of the invitation.
func (i *Invitation) Token() (string, error) {
	text, err := json.Marshal(i)
	return tokenPrefix + base64.RawURLEncoding.EncodeToString(text), err
}

// ParseToken reads a token; white space in it has no meaning.
func ParseToken(token string) (*Invitation, error) {
	token = strings.Join(strings.Fields(token), "")
	rest, is := strings.CutPrefix(token, tokenPrefix)
	if !is || len(token) > maxToken {
		return nil, errors.New("this is not a token of ccm-push workers invite; tokens begin with " + strings.TrimSuffix(tokenPrefix, "."))
	}
	text, err := base64.RawURLEncoding.DecodeString(rest)
	var i Invitation
	if err == nil {
		err = sealing.Decode(text, &i)
	}
	if err != nil {
		return nil, errors.New("the token is not complete")
	}
	return &i, i.validate()
}

func (i *Invitation) validate() error {
	key, err := ssh.ParsePublicKey(i.Coordinator)
	switch {
	case err != nil || key.Type() != ssh.KeyAlgoED25519 || len(i.Secret) != secretSize || i.URL == "" || !validName(i.Name) || strings.ContainsAny(i.Site, "\n\r\x00"):
		return errors.New("the token is not valid")
	case time.Now().After(i.Until):
		return fmt.Errorf("the token has expired at %s\n  hint: create a new token: ccm-push workers invite", i.Until.Local().Format(time.TimeOnly))
	}
	if len(i.CA) > 0 {
		if _, err := x509.ParseCertificate(i.CA); err != nil {
			return fmt.Errorf("the authority in the token is not valid: %w", err)
		}
	}
	return nil
}

// derived returns a key for one purpose, made of the secret.
func (i *Invitation) derived(purpose string) []byte {
	sum := sha256.Sum256(append([]byte("ccm-push join\x00"+purpose+"\x00"), i.Secret...))
	return sum[:]
}

// Login returns the key of the invited user of the broker.
func (i *Invitation) Login() (nkeys.KeyPair, error) {
	return nkeys.FromRawSeed(nkeys.PrefixByteUser, i.derived("login"))
}

func (i *Invitation) sealer() (sealing.Sealer, error) {
	return sealing.NewSealer(i.derived("seal"), sealing.HandoutID{})
}

// CoordinatorKey returns the line of the controller's key in lists.
func (i *Invitation) CoordinatorKey() string {
	key, err := ssh.ParsePublicKey(i.Coordinator)
	if err != nil {
		return ""
	}
	return string(bytes.TrimSpace(ssh.MarshalAuthorizedKey(key))) + " " + i.Name
}

// CAText returns the authority of the broker in PEM; empty means the system's.
func (i *Invitation) CAText() []byte {
	if len(i.CA) == 0 {
		return nil
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: i.CA})
}

// A Candidate is a machine that wants to become a worker.
type Candidate struct {
	Name string `json:"name"`
	Key  []byte `json:"key"`  // key of the worker, for lists
	NKey string `json:"nkey"` // key for its login to the broker
	// Addresses from which the worker connects to hosts; none means unknown.
	Addresses []netip.Prefix `json:"addresses,omitempty"`
}

func (c *Candidate) validate() error {
	key, err := ssh.ParsePublicKey(c.Key)
	if err != nil || key.Type() != ssh.KeyAlgoED25519 || !nkeys.IsValidPublicUserKey(c.NKey) {
		return errors.New("the keys are not valid")
	}
	if !validName(c.Name) {
		return fmt.Errorf("the name %q: write letters, digits and . _ @ -, at most %d", c.Name, maxJoinName)
	}
	if !keyring.ValidAddresses(c.Addresses) {
		return fmt.Errorf("more than %d addresses, or an invalid address", keyring.MaxAddresses)
	}
	return nil
}

func validName(name string) bool {
	return name != "" && len(name) <= maxJoinName && strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._@-") == "" && strings.Trim(name[:1], "._@-") != ""
}

// Line returns the line of the candidate's key in the list of workers. It limits the worker to hosts of a site, and to its addresses.
func (c *Candidate) Line(site string) (string, error) {
	key, err := ssh.ParsePublicKey(c.Key)
	if err != nil {
		return "", err
	}
	return keyring.Entry{Name: c.Name, Sites: []string{site}, From: c.Addresses}.Text(key)
}

// RefusedBy returns why a candidate cannot take hosts of a site, though its key is on the list already; nil if it can.
func (c *Candidate) RefusedBy(list keyring.Keyring, site string) error {
	if line, listed := list[string(c.Key)]; listed && !line.Allows(site) {
		return &siteError{line, []string{site}}
	}
	return nil
}

// Fingerprint returns the text that both machines show, made of the token and of all exchanged keys. Another machine with the same token
// cannot have the same fingerprint.
func (i *Invitation) Fingerprint(c *Candidate) string {
	text, _ := json.Marshal(struct {
		Invitation *Invitation
		Candidate  *Candidate
	}{i, c}) // all of it is valid JSON
	sum := sha256.Sum256(append([]byte("ccm-push join fingerprint\x00"), text...))
	short := base32.StdEncoding.EncodeToString(sum[:10])
	return strings.Join([]string{short[:4], short[4:8], short[8:12], short[12:]}, "-")
}

// NewWorkerKey makes the key of a worker. private is the content of a file.
func NewWorkerKey(comment string) (private []byte, public ssh.PublicKey, err error) {
	own, secret, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	block, err := ssh.MarshalPrivateKey(secret, comment)
	if err != nil {
		return nil, nil, err
	}
	public, err = ssh.NewPublicKey(own)
	return pem.EncodeToMemory(block), public, err
}

// joined is the answer of the controller.
type joined struct {
	Answer string `json:"answer"` // admittedText, or why not
}

// Join sends a candidate to the controller, and returns once a person there has admitted it.
func (i *Invitation) Join(ctx context.Context, conn *nats.Conn, c *Candidate) error {
	s, err := i.sealer()
	if err != nil {
		return err
	}
	text, err := s.Seal(sealing.ToCoordinator, c)
	if err != nil {
		return err
	}
	own, err := i.Login()
	if err != nil {
		return err
	}
	of, err := own.PublicKey()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithDeadline(ctx, i.Until)
	defer cancel()
	msg, err := conn.RequestWithContext(ctx, queue.JoinOf(of), text)
	switch {
	case errors.Is(err, nats.ErrNoResponders):
		return errors.New("the machine that created the token no longer waits for this worker\n  hint: create a new token on that machine: ccm-push workers invite")
	case err != nil:
		return fmt.Errorf("waiting for an answer: %w", err)
	}
	answer, err := s.Open(sealing.ToWorker, msg.Data)
	var j joined
	if err == nil {
		err = json.Unmarshal(answer, &j)
	}
	switch {
	case err != nil:
		return errors.New("the answer is not from the machine that made the token")
	case j.Answer != admittedText:
		return errors.New("this machine was not admitted: " + j.Answer)
	}
	return nil
}

// Await opens the invitation at the broker, calls ready, and waits for one candidate. admit shows it to a person; an error refuses
// it. The broker adds the candidate as a worker, and record takes its key into the list, before it gets an answer. The invitation is
// used up in any case.
func (i *Invitation) Await(ctx context.Context, conn *nats.Conn, ready func() error, admit, record func(*Candidate) error) error {
	s, err := i.sealer()
	if err != nil {
		return err
	}
	login, err := i.Login()
	if err != nil {
		return err
	}
	of, err := login.PublicKey()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithDeadline(ctx, i.Until)
	defer cancel()
	sub, err := conn.SubscribeSync(queue.JoinOf(of))
	if err != nil {
		return err
	}
	defer func() { _ = sub.Unsubscribe() }()
	if err := queue.RequestInvite(ctx, conn, queue.InviteRequest{Key: of, Invite: true}); err != nil {
		return err
	}
	used := false
	defer func() {
		if !used {
			_ = queue.RequestInvite(context.WithoutCancel(ctx), conn, queue.InviteRequest{Key: of, Revoke: true}) // else it expires
		}
	}()
	if err := ready(); err != nil {
		return err
	}
	for {
		msg, err := sub.NextMsgWithContext(ctx)
		if err != nil {
			if errors.Is(err, context.DeadlineExceeded) {
				return errors.New("the invitation has expired, and no machine has joined")
			}
			return err
		}
		var c Candidate
		text, err := s.Open(sealing.ToCoordinator, msg.Data)
		if err == nil {
			err = json.Unmarshal(text, &c)
		}
		if err == nil {
			err = c.validate()
		}
		if err != nil { // any user of the broker may have sent it, without the secret
			continue
		}
		if err = admit(&c); err == nil {
			err = queue.RequestInvite(ctx, conn, queue.InviteRequest{Key: of, Admit: &queue.Admission{Name: c.Name, Key: c.NKey, Sites: []string{i.Site}}})
			used = err == nil
		}
		if err == nil {
			err = record(&c)
		}
		j := joined{Answer: admittedText}
		if err != nil {
			j.Answer = err.Error()
		}
		sealed, sealErr := s.Seal(sealing.ToWorker, j)
		if sealErr == nil {
			sealErr = msg.Respond(sealed)
		}
		return errors.Join(err, sealErr, conn.FlushTimeout(closeTime))
	}
}
