package notes

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash"
	"math/rand/v2"
	"slices"

	"github.com/ccm-push/ccm-push/modules/wire"
)

// Applied records the properties with which applying runs last left each resource. A resource that differs although it
// was left with its current properties was changed on the host. A resource may have several recorded sets of properties
// if plays desire different ones and neither has changed it since.
//
// Names and properties are recorded as short hashes with a key of the host, so that the notes alone reveal no secrets.
// Nothing is read before its first use, and for a catalog that is recorded as a whole only the first line is parsed.
type Applied struct {
	store Store
	cat   *wire.Catalog
	write bool // the notes may be written

	opened bool
	err    error // why nothing can be reported or recorded
	head   appliedHead
	rest   []byte // the second line, if it has not been parsed
	digest string // digest of the catalog
	whole  bool   // all of the catalog is noted already

	left  map[uint64][]uint64 // resource → properties with which it was left; nil before the first use
	ages  []uint64            // the resources of left, the oldest first
	asked map[uint64][]uint64 // resource → the properties that it has in the catalog; the same
	marks []mark              // marks of entries that receive nothing, by entry; nil before the first use
	ended []bool              // whether an entry is in its desired state, by entry of the catalog
	news  bool                // left is not what the store has
	// superseded reports that the records of resources that the catalog changes have been dropped.
	superseded bool

	mac  hash.Hash // begins with the key
	text []byte    // hashed text
}

// A mark identifies a resource and its properties in the notes.
type mark struct{ resource, with uint64 }

// appliedFormat is the format of the lines. Notes of a newer host program are not changed.
const appliedFormat = 1

// Limits of the notes: the oldest are dropped.
const (
	maxLeft         = 20_000 // properties of resources, together
	maxLeftWith     = 8      // properties of one resource that the catalog does not have
	maxLeftCatalogs = 64
)

// appliedHead is the first line of the notes.
type appliedHead struct {
	Format   int      `json:"format"`
	Key      []byte   `json:"key"`
	Catalogs []string `json:"catalogs,omitempty"` // digests of catalogs whose resources are all recorded
	Beyond   []uint64 `json:"beyond,omitempty"`   // resources that changed more than their manifest lists, with their properties
	Run      string   `json:"run,omitempty"`      // run that wrote last
	Holder   string   `json:"holder,omitempty"`   // whose run
}

// appliedLeft is the second line: pairs of resource and properties, 8 bytes each.
type appliedLeft struct {
	Left []byte `json:"left"`
}

// NewApplied returns the records in a store, for a catalog. Without a store there are none. A catalog that changes
// nothing, or changes without the host's lock, writes nothing.
func NewApplied(store Store, cat *wire.Catalog) *Applied {
	if cat.Monitor {
		store = nil
	}
	return &Applied{store: store, cat: cat, write: !cat.Check && cat.Lock != nil, ended: make([]bool, len(cat.Entries))}
}

// Open reads the first line, unless that was tried before. The first error is a warning for
// the user.
func (a *Applied) Open() error {
	if a.opened || a.store == nil {
		return nil
	}
	a.opened = true
	text, err := a.store.Read()
	if err == nil {
		err = a.readHead(text)
	}
	if err != nil {
		a.err = fmt.Errorf("the records of earlier runs cannot be read, so drift is not reported: %w", err)
		return a.err
	}
	if a.head.Key == nil {
		a.begin()
	}
	a.begins()
	for i := range a.cat.Entries {
		if e := &a.cat.Entries[i]; noted(e) {
			a.text = appendProperties(appendText(a.text[:0], e.Type, e.Name), e.Properties)
			a.mac.Write(a.text)
		}
	}
	a.digest = base64.RawStdEncoding.EncodeToString(a.mac.Sum(nil)[:16])
	a.whole = slices.Contains(a.head.Catalogs, a.digest)
	return nil
}

// readHead reads the first line. Invalid lines are replaced: nothing depends on them.
func (a *Applied) readHead(text []byte) error {
	head, rest, _ := bytes.Cut(text, []byte{'\n'})
	var h appliedHead
	switch err := json.Unmarshal(head, &h); {
	case err != nil || h.Format < 1:
		return nil
	case h.Format > appliedFormat:
		return fmt.Errorf("a newer ccm-push has written it in format %d, so it is not changed", h.Format)
	case len(h.Key) != sha256.Size:
		return nil
	}
	a.head, a.rest = h, rest
	return nil
}

// begin begins without any notes.
func (a *Applied) begin() {
	a.head = appliedHead{Format: appliedFormat}
	for len(a.head.Key) < sha256.Size {
		// ChaCha8 with a seed of the operating system. crypto/rand would bring math/big along.
		a.head.Key = binary.BigEndian.AppendUint64(a.head.Key, rand.Uint64())
	}
	a.rest = nil
}

// Known reports whether it is known how earlier runs have left the host.
func (a *Applied) Known() bool { return a.opened && a.err == nil }

// LeftSo reports whether a run has left the resource of an entry with these properties, and
// no run has changed it since for others. Open has been called.
func (a *Applied) LeftSo(e *wire.Entry, properties json.RawMessage) bool {
	if !a.Known() {
		return false
	}
	a.parse()
	m := a.mark(e, properties)
	return slices.Contains(a.left[m.resource], m.with)
}

// Supersede drops the record of an entry's resource before the resource is changed for other properties. Its first call
// drops the records of all resources of the catalog that have other properties, so that one write suffices.
func (a *Applied) Supersede(e *wire.Entry, properties json.RawMessage) error {
	if !a.Known() || !a.write {
		return nil
	}
	a.parse()
	dropped := false
	if !a.superseded {
		a.superseded = true
		for resource, with := range a.asked {
			dropped = a.drop(resource, with) || dropped
		}
	}
	m := a.mark(e, properties)
	if dropped = a.drop(m.resource, append(slices.Clone(a.asked[m.resource]), m.with)) || dropped; !dropped {
		return nil
	}
	a.head.Catalogs, a.whole = nil, false // they may be about these
	return a.save()
}

// drop drops the record of a resource, except if it has one of the properties unless.
func (a *Applied) drop(resource uint64, unless []uint64) (dropped bool) {
	had := a.left[resource]
	if len(had) == 0 || slices.ContainsFunc(had, func(with uint64) bool { return slices.Contains(unless, with) }) {
		return false
	}
	delete(a.left, resource)
	a.news = true
	return true
}

// Left records that an entry of the catalog was left in its desired state. The caller has called Open.
func (a *Applied) Left(i int, properties json.RawMessage) {
	e := &a.cat.Entries[i]
	if !a.Known() || !a.write || !noted(e) {
		return
	}
	a.ended[i] = true
	if a.whole && len(e.Receive) == 0 {
		return
	}
	a.parse()
	m := a.marks[i]
	if len(e.Receive) > 0 {
		m = a.mark(e, properties)
	}
	had := a.left[m.resource]
	if slices.Contains(had, m.with) {
		return
	}
	if len(had) == 0 {
		a.ages = append(a.ages, m.resource)
	}
	if len(had) >= maxLeftWith+len(a.asked[m.resource]) {
		asked := func(with uint64) bool { return slices.Contains(a.asked[m.resource], with) }
		oldest := slices.IndexFunc(had, func(with uint64) bool { return !asked(with) })
		had = slices.Delete(had, max(0, oldest), max(0, oldest)+1)
	}
	a.left[m.resource] = append(had, m.with)
	a.news = true
}

// maxBeyond bounds the resources of which GoesBeyond is recorded.
const maxBeyond = 256

// WentBeyond records that a resource with these properties changed more than its manifest lists. The caller has called
// Open.
func (a *Applied) WentBeyond(e *wire.Entry, properties json.RawMessage) {
	if a.Known() && a.write && !a.GoesBeyond(e, properties) {
		m := a.mark(e, properties)
		a.head.Beyond = append(a.head.Beyond, m.resource^m.with)
		a.head.Beyond = a.head.Beyond[max(0, len(a.head.Beyond)-maxBeyond):]
		a.news = true
	}
}

// GoesBeyond reports whether that has been recorded.
func (a *Applied) GoesBeyond(e *wire.Entry, properties json.RawMessage) bool {
	if !a.Known() || len(a.head.Beyond) == 0 && !a.write {
		return false
	}
	m := a.mark(e, properties)
	return slices.Contains(a.head.Beyond, m.resource^m.with)
}

// Close writes new records.
func (a *Applied) Close() error {
	if !a.Known() || !a.write {
		return nil
	}
	whole := true
	for i := range a.cat.Entries {
		whole = whole && (!noted(&a.cat.Entries[i]) || a.ended[i])
	}
	if whole && slices.Contains(a.ended, true) && !slices.Contains(a.head.Catalogs, a.digest) {
		a.head.Catalogs = append(a.head.Catalogs, a.digest)
		a.head.Catalogs = a.head.Catalogs[max(0, len(a.head.Catalogs)-maxLeftCatalogs):]
		a.news = true
	}
	if !a.news {
		return nil
	}
	return a.save()
}

// LastRun names the run that has written a store last; "" if that is not known.
func LastRun(store Store) (run, holder string) {
	if store == nil {
		return "", ""
	}
	text, err := store.Read()
	if err != nil {
		return "", ""
	}
	var a Applied
	if a.readHead(text) != nil {
		return "", ""
	}
	return a.head.Run, a.head.Holder
}

// noted reports whether an entry is recorded at all: it has a resource that is applied.
func noted(e *wire.Entry) bool {
	return !e.Excluded && !e.Hidden && !e.Monitor && !e.Check && !e.Reversal && e.Scope == nil && e.Query == "" && len(e.Awaits) == 0
}

// parse reads all notes, and finds the properties of the catalog.
func (a *Applied) parse() {
	if a.left != nil {
		return
	}
	a.left, a.asked, a.marks = map[uint64][]uint64{}, map[uint64][]uint64{}, make([]mark, len(a.cat.Entries))
	var line appliedLeft
	if err := json.Unmarshal(a.rest, &line); err != nil || len(line.Left)%16 != 0 {
		line.Left, a.head.Catalogs, a.whole = nil, nil, false
	}
	for pair := range slices.Chunk(line.Left, 16) {
		resource, with := binary.BigEndian.Uint64(pair), binary.BigEndian.Uint64(pair[8:])
		if a.left[resource] == nil {
			a.ages = append(a.ages, resource)
		}
		a.left[resource] = append(a.left[resource], with)
	}
	for i := range a.cat.Entries {
		if e := &a.cat.Entries[i]; noted(e) && len(e.Receive) == 0 {
			m := a.mark(e, e.Properties)
			a.marks[i] = m
			a.asked[m.resource] = append(a.asked[m.resource], m.with)
		}
	}
}

// save writes the records; the records of the catalog are the newest.
func (a *Applied) save() error {
	a.parse()
	var here, others []byte
	written := map[uint64]bool{}
	for _, resource := range a.ages {
		if written[resource] {
			continue
		}
		written[resource] = true
		to := &others
		if a.asked[resource] != nil {
			to = &here
		}
		for _, with := range a.left[resource] {
			*to = binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(*to, resource), with)
		}
	}
	all := append(others, here...)
	if most := maxLeft * 16; len(all) > most {
		all = all[len(all)-most:]
		if len(a.head.Catalogs) > 1 { // the dropped records may belong to them
			a.head.Catalogs = a.head.Catalogs[len(a.head.Catalogs)-1:]
		}
	}
	a.head.Run, a.head.Holder = Clip(a.cat.Lock.Run, maxName), Clip(a.cat.Lock.Holder, maxName)
	head, err := json.Marshal(&a.head)
	if err != nil {
		return err
	}
	line, err := json.Marshal(&appliedLeft{all})
	if err != nil {
		return err
	}
	if err := a.store.Replace(slices.Concat(head, []byte{'\n'}, line, []byte{'\n'})); err != nil {
		return err
	}
	a.news = false
	return nil
}

// mark returns the mark of a resource with these properties.
func (a *Applied) mark(e *wire.Entry, properties json.RawMessage) (m mark) {
	a.text = appendText(a.text[:0], e.Type, e.Name)
	m.resource = a.hash()
	a.text = appendProperties(a.text[:0], properties)
	m.with = a.hash()
	return m
}

// begins starts a hash with the key. The kept part of a hash is too short to be extended without the key, so it needs
// no HMAC.
func (a *Applied) begins() {
	if a.mac == nil {
		a.mac = sha256.New()
	}
	a.mac.Reset()
	a.mac.Write(a.head.Key)
}

// hash is a short hash of the text.
func (a *Applied) hash() uint64 {
	a.begins()
	a.mac.Write(a.text)
	var sum [sha256.Size]byte
	return binary.BigEndian.Uint64(a.mac.Sum(sum[:0]))
}

// appendText appends texts so that no others give the same bytes.
func appendText(b []byte, texts ...string) []byte {
	for _, text := range texts {
		b = append(binary.BigEndian.AppendUint64(b, uint64(len(text))), text...)
	}
	return b
}

// promised precedes, in JSON, the token of a content that is not known yet. The token differs in each run. Within a
// text it would be quoted.
var promised = []byte(`"promised":"`)

// appendProperties appends properties without such tokens.
func appendProperties(b []byte, properties json.RawMessage) []byte {
	const token = 2 * sha256.Size
	b = binary.BigEndian.AppendUint64(b, uint64(len(properties)))
	for {
		at := bytes.Index(properties, promised)
		if at < 0 || len(properties) < at+len(promised)+token {
			return append(b, properties...)
		}
		b = append(b, properties[:at+len(promised)]...)
		properties = properties[at+len(promised)+token:]
	}
}
