.PHONY: help dev test conformance cluster campaign test-fast fuzz check types format pins bench growth eval ablate mutate image vendor shots basemap
TSC := tools/page_types/node_modules/.bin/tsc
help:            ## what there is
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/ —/'
dev:             ## the server with its page; another first port: make dev PORT=8000
	uv run tanlu serve $(if $(PORT),--port $(PORT))
test:            ## every test, on two processes more than there are cores (`-n 0`: in this one); 7 minutes on two
	uv run pytest
conformance:     ## what every engine must do: langgraph dev, then two instances of Aegra (Postgres, Redis, Python 3.12)
	uv run pytest -n 0 tests/conformance --engine dev
	uv run pytest -n 0 tests/conformance --engine aegra
cluster:         ## three instances on this machine (Postgres, Redis, nginx from the system; Python 3.12): make cluster N=2
	uv run python -m tools.cluster --instances $(if $(N),$(N),3) $(if $(PORT),--port $(PORT))
campaign:        ## 200 + 40 kills of instances at random under questions, Redis and Postgres failing; half an hour
	uv run python -m benchmarks.campaign
test-fast:       ## unit, contract and architecture without what is slow or needs Node: no server, no browser; a minute on two
	uv run pytest tests/unit tests/contract tests/architecture -m "not slow and not node"
fuzz:            ## a million examples for the readers of all that comes from outside, over an hour: make fuzz N=25000 (a property)
	FUZZ_EXAMPLES=$(N) uv run pytest tests/fuzz --hypothesis-profile=long --dist=worksteal --timeout=0
check:           ## the static checks CI runs before the tests
	uv run --group lint ruff format --check .
	uv run --group lint ruff check .
	uv run --group lint mypy
	uv run --group lint lint-imports
	$(MAKE) --no-print-directory types
types: $(TSC)    ## the types in the JSDoc of the page's modules (needs npm, once)
	$(TSC) --project tools/page_types
$(TSC): tools/page_types/package-lock.json
	cd tools/page_types && npm ci --ignore-scripts --no-audit --no-fund --no-update-notifier
	touch $@
format:          ## put the code in order
	uv run --group lint ruff format .
	uv run --group lint ruff check --fix .
pins:            ## exact versions from the lock into pyproject.toml
	uv lock --upgrade
	uv run --no-sync python tools/pins.py
bench:           ## assistants against their bounds, the size of prompts, a batch's throughput, the check of claims
	uv run python -m benchmarks.critical_path
	uv run python -m benchmarks.long_assistants
	uv run python -m benchmarks.post_processing
	uv run python -m benchmarks.context_growth
	uv run python -m benchmarks.context_memory
	uv run python -m benchmarks.knowledge_store
	uv run python -m benchmarks.batch_throughput
	uv run python -m benchmarks.claim_check
growth:          ## whether work over hostile texts grows in proportion to them; about a quarter of an hour
	uv run python -m benchmarks.growth
eval:            ## how well rules see that the map helps, questions are read, demands and claims are checked, and things are ranked and found
	uv run python -m evals.geo_intent
	uv run python -m evals.rerank
	uv run python -m evals.claims
	uv run python -m evals.figures
	uv run python -m evals.retrieval
	uv run python -m evals.statements
	uv run python -m evals.questions
	uv run python -m evals.demands
	uv run python -m evals.own_documents --run
ablate:          ## which rules no labelled row needs, one switched off at a time; ten minutes: make ablate KIND=demands
	uv run python -m evals.ablate $(KIND)
mutate:          ## which changes of core, guard, figures and the planner no test sees; hours: make mutate ONLY='agent.core.calls.*'
	uv run --with mutmut==3.8.1 mutmut run --max-children 2 $(if $(ONLY),'$(ONLY)')
	uv run --with mutmut==3.8.1 mutmut results
vendor:          ## the page's libraries, bundled from the pinned packages (needs npm)
	uv run --no-sync python tools/vendor_page.py
basemap:         ## streets for the page's map, from an extract: make basemap FILE=city.osm.pbf (needs tilemaker)
	uv run --no-sync --with pmtiles==3.5.0 python tools/basemap/basemap.py $(FILE)
shots:           ## pictures of the page: zh, en and an answer in Arabic, 390, 1024 and 1440 wide, light and dark; that of the terminal; with EXTRACT=helsinki.osm.pbf the README's moving one and the docs' stills
	TANLU_SHOTS=1 TANLU_ARTIFACTS=artifacts uv run --group browser pytest -n 0 tests/browser/test_looks.py
	$(if $(EXTRACT),uv run --group browser --with osmium --with pmtiles==3.5.0 python -m tools.moving_picture $(EXTRACT))
	uv run python tools/picture.py
image:           ## the Dockerfile of the deployment
	uv run langgraph dockerfile Dockerfile
