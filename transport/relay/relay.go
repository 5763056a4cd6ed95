package relay

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/ccm-push/ccm-push/transport"
	"github.com/ccm-push/ccm-push/transport/start"
)

// A Relay is a host that has made a key to deliver with. Its methods may be called from many goroutines.
type Relay struct {
	client  *transport.Client
	nonce   string
	key     ssh.PublicKey
	sources []netip.Prefix
	keeper  *transport.Command
	places  int           // for deliveries
	free    chan struct{} // has room for so many
	limit   time.Duration // timeout of one delivery
	hearing sync.WaitGroup

	writing sync.Mutex // held while the keeper is given an order

	naming sync.Mutex
	names  map[*ssh.Certificate]string // names of the keeper's certificates

	mu         sync.Mutex
	deliveries map[string]*delivery // under way, by their ids; nil when the keeper has ended
	number     int                  // number of deliveries so far
}

const (
	// atOnce is the number of parallel deliveries. Each spends most of its time in a login, for which the relay waits.
	atOnce = 32
	// deliveryMemory is the use of the relay's memory by one delivery, in KiB: five processes, one of them ssh
	// (measured: 45 MB for 32). All deliveries together use at most one part in memoryShare of the available memory.
	deliveryMemory, memoryShare = 1536, 8
	// deliverTime limits one delivery: with all of them in progress, 5 Mbit/s suffice.
	deliverTime = 2 * time.Minute
	// silence limits the time of a relay without progress in one step.
	silence = 60 * time.Second
	// maxSaid bounds the output of a relay, and maxLine one line, in bytes.
	maxSaid = 64 << 20
	maxLine = 64 << 10
	// maxSources bounds the addresses of a relay: a certificate lists each.
	maxSources = 64
)

// Open has a host make a key. The connection is taken over: it ends with [Relay.Close], and if there is
// an error. nonce is of letters and digits, and must differ for every relay.
func Open(ctx context.Context, c *transport.Client, nonce string) (*Relay, error) {
	r := &Relay{client: c, nonce: nonce, places: atOnce, limit: deliverTime, names: map[*ssh.Certificate]string{}, deliveries: map[string]*delivery{}}
	err := r.guard(ctx, func(func()) error { return r.open() })
	if err != nil {
		r.Close()
		return nil, fmt.Errorf("making a key to deliver with: %w", err)
	}
	return r, nil
}

func (r *Relay) open() error {
	line, err := start.ShellLine(keepScript, []string{r.nonce})
	if err != nil {
		return err
	}
	if r.keeper, err = r.client.Run(line, false, io.Discard); err != nil {
		return err
	}
	said := bufio.NewReaderSize(io.LimitReader(r.keeper.Stdout, maxSaid), maxLine)
	if err := r.read(said); err != nil {
		return err
	}
	r.free = make(chan struct{}, r.places)
	r.hearing.Go(func() { r.hear(said) }) // until Close
	return nil
}

// read reads the relay's description of itself.
func (r *Relay) read(out *bufio.Reader) error {
	for {
		line, err := out.ReadSlice('\n')
		if err != nil {
			return errors.New("it does not say that it has one")
		}
		noise, text, _ := strings.Cut(string(line), " "+r.nonce+" ")
		text = strings.TrimSpace(text)
		switch {
		case strings.HasSuffix(noise, "addr"):
			r.addSources(text)
		case strings.HasSuffix(noise, "mem"):
			r.bound(text)
		case strings.HasSuffix(noise, "fail"):
			return failure(text)
		case strings.HasSuffix(noise, "key"):
			if r.key, _, _, _, err = ssh.ParseAuthorizedKey([]byte(text)); err != nil || r.key.Type() != ssh.KeyAlgoED25519 {
				return fmt.Errorf("%s is not a key of the requested type", transport.QuoteExcerpt(text))
			}
			if len(r.sources) == 0 {
				return errors.New("it does not report its addresses")
			}
			return nil
		}
	}
}

// failure returns the error for a relay that could not create a key; word is its report.
func failure(word string) error {
	switch word {
	case "nossh":
		return errors.New("no ssh or ssh-keygen on the host")
	case "nodir":
		return errors.New("no directory for the key in the home of the login user")
	}
	return errors.New("ssh-keygen makes none")
}

// bound has no more deliveries at once than the relay has memory for, by a line of proc_meminfo(5).
func (r *Relay) bound(line string) {
	words := strings.Fields(line)
	if len(words) != 3 || words[2] != "kB" {
		return
	}
	if available, err := strconv.Atoi(words[1]); err == nil {
		r.places = min(max(1, available/memoryShare/deliveryMemory), atOnce)
	}
}

// addSources adds the addresses in a line of ip(8) or ifconfig(8) to the addresses from which the key can be used. A
// relay can only weaken its own key: with more addresses, the key can be used from more places for the same delivery.
func (r *Relay) addSources(line string) {
	words := strings.Fields(line)
	for i, word := range words[:max(0, len(words)-1)] {
		if word != "inet" && word != "inet6" {
			continue
		}
		text, _, _ := strings.Cut(strings.TrimPrefix(words[i+1], "addr:"), "/")
		text, _, _ = strings.Cut(text, "%")
		address, err := netip.ParseAddr(text)
		if err != nil || address.IsUnspecified() || address.IsMulticast() || address.IsLinkLocalUnicast() {
			continue
		}
		address = address.Unmap()
		one := netip.PrefixFrom(address, address.BitLen())
		// Only the connection's own address, which comes first, may be a loopback address.
		if len(r.sources) < maxSources && !slices.Contains(r.sources, one) && (len(r.sources) == 0 || !address.IsLoopback()) {
			r.sources = append(r.sources, one)
		}
	}
}

// Take sends the relay a build, in gzip, unless it has it. sent receives the number of sent bytes. Take returns the
// path on the relay, in its own words; see [start.Taking].
func (r *Relay) Take(ctx context.Context, b start.Build, sent func(n, size int64)) (path string, err error) {
	err = r.guard(ctx, func(progress func()) error {
		line, err := start.TakeLine(r.nonce, b)
		if err != nil {
			return err
		}
		said := transport.NewStderr()
		command, err := r.client.Run(line, false, said)
		if err != nil {
			return err
		}
		defer command.Close()
		path, err = start.Taking(r.nonce, b, command.Stdout, func() error { return send(command.Stdin, b, progress, sent) })
		return withLastLine(err, said)
	})
	return path, err
}

// chunk is the number of bytes between two reports of progress.
const chunk = 32 << 10

func send(w io.Writer, b start.Build, progress func(), sent func(n, size int64)) error {
	compressed, err := b.Compressed()
	if err != nil {
		return err
	}
	size := int64(len(compressed))
	for rest := compressed; len(rest) > 0; {
		n, err := w.Write(rest[:min(len(rest), chunk)])
		if err != nil {
			return nil // the output of the script explains it
		}
		rest = rest[n:]
		progress()
		sent(size-int64(len(rest)), size)
	}
	return nil
}

// Close ends the relay, which removes its key, and the connection to it.
func (r *Relay) Close() error {
	err := r.client.Close()
	r.hearing.Wait()
	return err
}

// Done is closed when the connection to the relay has ended.
func (r *Relay) Done() <-chan struct{} { return r.client.Done() }

// guard calls do. It closes the connection of the relay after a while without progress, or when ctx ends: operations on
// a channel have no deadline. do reports progress.
func (r *Relay) guard(ctx context.Context, do func(progress func()) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	timer := time.AfterFunc(silence, func() { cancel(fmt.Errorf("%w after %s", transport.ErrTimeout, silence)) })
	defer timer.Stop()
	stop := context.AfterFunc(ctx, r.client.HangUp)
	err := do(func() { timer.Reset(silence) })
	if !stop() {
		return context.Cause(ctx)
	}
	return err
}

// withLastLine adds what a program has last written to the error.
func withLastLine(err error, said *transport.Stderr) error {
	if last := transport.LastLine(said.String()); err != nil && last != "" {
		return fmt.Errorf("%w; it last wrote %s", err, transport.QuoteExcerpt(last))
	}
	return err
}
