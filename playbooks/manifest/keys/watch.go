package keys

// Watch is the keys of watch: what becomes of resources that are not as they shall be while they
// are watched.
type Watch struct {
	Mode     any      `json:"mode" default:"report" doc:"what is done about a resource that has drifted: report tells it, repair mends it as well, off does not watch it and leaves it alone when others are mended"`
	Settle   Seconds  `json:"settle" default:"2s" doc:"how long nothing may be heard of a resource before it is checked, 0s-5m; a bare number is seconds. It is put off for 30s at most"`
	Poll     Seconds  `json:"poll" default:"10m" doc:"in what time every resource is checked whether or not anything is heard of it, 1s-30d; 0 is never"`
	Repair   Repair   `json:"repair" hint:"write keys such as repair: {budget: 3, per: 10m}" doc:"how often is mended, how soon, and on how many hosts"`
	Ignore   []string `json:"ignore" doc:"properties: what differs in these alone counts as it shall be, such as mode"`
	Quiet    any      `json:"quiet" doc:"times at which nothing is mended, such as Sat 02:00-04:00, and, of a play, {file: PATH}: while that is on a host, nothing is told of the host"`
	OnBudget string   `json:"on_budget" enum:"report" default:"report" doc:"what is done about a resource that has been mended as often as it may: report tells that, and leaves it alone until it may be mended again"`
}

// Repair is the keys of repair.
type Repair struct {
	Budget     int     `json:"budget" default:"3" doc:"how often a resource of a host is mended within per, 1-1000"`
	Per        Seconds `json:"per" default:"10m" doc:"the time in which budget and fleet are counted, 1s-30d; a bare number is seconds"`
	Backoff    any     `json:"backoff" default:"[5s, 30s, 5m]" doc:"how long to wait after a first, second, … repair in a row that did not help: a duration, or a list of them, of which the last one stays"`
	Fleet      string  `json:"fleet" default:"2%" doc:"the share of the hosts that are repaired within per, rounded down, at least one host; the default is 2%, at least three hosts"`
	Only       string  `json:"only" enum:"certain,all" default:"certain" doc:"certain mends nothing of which it is not certain what would be done; all mends that, too"`
	Burst      int     `json:"burst" doc:"mgmt's word: with limit, the same as budget"`
	Limit      float64 `json:"limit" doc:"mgmt's word: repairs per second, so that per is burst / limit seconds"`
	Reset      *bool   `json:"reset" doc:"mgmt's word: true, which is always so: with another manifest all counters begin anew"`
	RetryReset *bool   `json:"retryreset" doc:"mgmt's word: true, which is always so: backoff begins anew once a resource is as it shall be"`
}

// Bounds of [Watch].
const (
	MaxBudget   = 1000
	MaxBackoffs = 20
)
