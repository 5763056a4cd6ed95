package keys

// Watch has the keys of watch: how drifted resources are handled while they are watched.
type Watch struct {
	Mode     any      `json:"mode" default:"report" doc:"how a drifted resource is handled: report reports it, repair reports and repairs it, off does not watch it and does not change it when others are repaired"`
	Settle   Seconds  `json:"settle" default:"2s" doc:"how long after the last event of a resource it is checked, 0s-5m; a bare number is seconds. Continuous events delay the check by at most 30s"`
	Poll     Seconds  `json:"poll" default:"10m" doc:"the interval at which every resource is checked even without events, 1s-30d; 0 means never"`
	Repair   Repair   `json:"repair" hint:"write keys such as repair: {budget: 3, per: 10m}" doc:"limits of repairs: how often, how soon and on how many hosts"`
	Ignore   []string `json:"ignore" doc:"properties whose differences are not drift, such as mode"`
	Quiet    any      `json:"quiet" doc:"times without repairs, such as Sat 02:00-04:00; in a play also {file: PATH}: while this file exists on a host, nothing is reported for the host"`
	OnBudget string   `json:"on_budget" enum:"report" default:"report" doc:"how a resource with exhausted repair budget is handled: report reports it and does not repair it until the budget allows it again"`
}

// Repair is the keys of repair.
type Repair struct {
	Budget     int     `json:"budget" default:"3" doc:"the number of repairs of one resource of a host within per, 1-1000"`
	Per        Seconds `json:"per" default:"10m" doc:"the time in which budget and fleet are counted, 1s-30d; a bare number is seconds"`
	Backoff    any     `json:"backoff" default:"[5s, 30s, 5m]" doc:"the wait after the first, second, … consecutive repair without success: a duration, or a list of durations; the last one repeats"`
	Fleet      string  `json:"fleet" default:"2%" doc:"the share of the hosts that are repaired within per, rounded down, at least one host; the default is 2%, at least three hosts"`
	Only       string  `json:"only" enum:"certain,all" default:"certain" doc:"certain repairs only if the result of the repair is certain; all also repairs if it is uncertain"`
	Burst      int     `json:"burst" doc:"mgmt's name: with limit, the same as budget"`
	Limit      float64 `json:"limit" doc:"mgmt's name: repairs per second; per is burst / limit seconds"`
	Reset      *bool   `json:"reset" doc:"mgmt's name: always true: a new manifest resets all counters"`
	RetryReset *bool   `json:"retryreset" doc:"mgmt's name: always true: backoff restarts when a resource is in its desired state"`
}

// Bounds of [Watch].
const (
	MaxBudget   = 1000
	MaxBackoffs = 20
)
