"""The shelves of the shop: the kinds of books, with the words and patterns of their texts.

`books` fills a slot in a pattern, such as `{thing}`, from the shelf's list of that name. `{who}` and
`{where}` come from lists that all shelves share.
"""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Shelf:
    """A category and the words of its books; its number of books is in proportion to `share`."""

    slug: str
    name: str
    blurb: str
    share: int
    titles: tuple[str, ...]
    abouts: tuple[str, ...]
    words: dict[str, tuple[str, ...]]
    subtitles: tuple[str, ...] = field(default=())


def _words(**lists: str) -> dict[str, tuple[str, ...]]:
    return {slot: tuple(word.strip() for word in text.split(",")) for slot, text in lists.items()}


SHELVES: tuple[Shelf, ...] = (
    Shelf(
        slug="literary-fiction",
        name="Literary fiction",
        blurb="Quiet rooms, long memories, sentences worth reading twice.",
        share=12,
        titles=(
            "The {thing} of {where}",
            "A {quality} {thing}",
            "All the {quality} {things}",
            "{things} in {season}",
            "What the {thing} Knew",
            "The {trade}'s {kin}",
            "Before the {things}",
            "{season} at {where}",
        ),
        abouts=(
            "When {who} comes home to {where} for a funeral, the {thing} on the kitchen table is the one thing nobody will talk about.",
            "Three generations of a family in {where} keep the same {quality} secret, each believing they are the only one.",
            "A {trade} who has not spoken to a {kin} for twenty years receives a letter with nothing in it but a {quality} photograph.",
            "Over one {season}, {who} sorts through a dead friend's {things} and finds a life that was not the one described.",
        ),
        words=_words(
            thing="orchard, window, garden, letter, river, staircase, mirror, piano, harbour, bridge, inheritance, photograph, silence, lamp, threshold",
            things="orchards, windows, letters, rivers, mirrors, bridges, photographs, silences, lamps, ferries, tides, swallows, shadows",
            quality="quiet, borrowed, unfinished, patient, ordinary, faithful, distant, vanishing, tender, second, forgotten, narrow",
            season="winter, late spring, August, early autumn, the rainy season, October, midsummer, the long thaw",
            trade="clockmaker, translator, piano tuner, lighthouse keeper, seamstress, cartographer, schoolmaster, bookbinder, ferryman, glazier",
            kin="daughter, brother, widow, twin, son, mother, sister, apprentice",
        ),
    ),
    Shelf(
        slug="crime",
        name="Crime and mystery",
        blurb="Bodies, alibis, and detectives who ought to sleep more.",
        share=13,
        titles=(
            "Death at {where}",
            "The {quality} {victim}",
            "A {thing} for the {victim}",
            "The {where} {case}",
            "Murder by {thing}",
            "The Last {thing}",
            "{number} {things}",
            "No {thing} in {where}",
        ),
        abouts=(
            "Inspector {who} had booked a week off. Then a {victim} is found in {where}, holding a {thing} that was reported stolen years ago.",
            "Everybody in {where} had a reason to dislike the {victim}. Only {who} asks who had a reason to like them.",
            "The door was locked, the {thing} was gone, and {number} witnesses swear that nothing happened at all.",
            "A cold case, a {quality} confession, and a detective called {who} who does not believe a word of it.",
        ),
        words=_words(
            thing="candlestick, timetable, alibi, telegram, poison, umbrella, ledger, cork, needle, ticket, chisel, key, fingerprint, teacup",
            things="witnesses, bullets, alibis, strangers, locked doors, telegrams, suspects, small lies, footprints",
            victim="archivist, organist, auctioneer, chess master, beekeeper, innkeeper, professor, verger, jeweller, understudy, notary",
            quality="invisible, silent, wrong, reluctant, drowned, punctual, counterfeit, missing, careless, second",
            case="affair, inheritance, deception, verdict, conspiracy, file, murders, enquiry",
            number="three, four, five, six, seven, nine, twelve",
        ),
    ),
    Shelf(
        slug="science-fiction",
        name="Science fiction",
        blurb="Other suns, other minds, and what we bring along.",
        share=11,
        titles=(
            "The {quality} {place}",
            "{place} of {things}",
            "Children of the {place}",
            "The {thing} Protocol",
            "{number} Light-Years from {where}",
            "A {thing} for the {place}",
            "The Last {trade}",
            "{things} at the Edge of the {place}",
        ),
        abouts=(
            "The ark-ship has been silent for {number} generations when its {thing} wakes a {trade} named {who} with a question it is not allowed to ask.",
            "On a moon where nobody is born any more, {who} is paid to remember for other people, until the {thing} starts to remember back.",
            "First contact comes as a {quality} signal, and only a {trade} hears that it is an apology.",
            "The {place} was built to outlast its makers. {who} is sent to switch it off.",
        ),
        words=_words(
            thing="beacon, archive, engine, lattice, tether, oracle, seed bank, reactor, mind, signal, compiler, elevator",
            things="machines, ghosts, satellites, mirrors, exiles, cartographers, engines, orphans, signals",
            quality="hollow, burning, silent, glass, inverted, last, drifting, infinite, salvaged, sleeping",
            place="orbit, station, colony, nebula, meridian, archipelago, void, horizon, dome, equator, constellation",
            trade="navigator, terraformer, xenolinguist, salvager, gardener, archivist, pilot, customs officer",
            number="three, seven, nine, eleven, forty, sixty, a hundred",
        ),
    ),
    Shelf(
        slug="fantasy",
        name="Fantasy",
        blurb="Maps in the front, dragons in the middle.",
        share=11,
        titles=(
            "The {quality} {thing}",
            "{thing} of {element}",
            "The {trade} of {realm}",
            "A {thing} of {element} and {substance}",
            "The {realm} {thing}",
            "Daughter of {element}",
            "The {number} {things} of {realm}",
            "{element} and {substance}",
        ),
        abouts=(
            "In {realm}, magic is taxed. {who}, the worst {trade} of the guild, finds a {thing} that no ledger knows.",
            "The {quality} {thing} chooses once in a hundred years, and it has never before chosen twins.",
            "An oath of {element}, a throne of {substance}, and a {trade} who would rather be left alone with the bees.",
            "The {things} of {realm} have been counted every spring since the war. This spring there is one too many.",
        ),
        words=_words(
            thing="crown, sword, gate, tower, song, oath, map, throne, lantern, chalice, bell, forge",
            things="crowns, gates, towers, oaths, bells, dragons, ravens, kings, witches, sisters",
            quality="broken, hidden, winter, crooked, nameless, ninth, whispering, bitter, drowned, starless",
            element="ash, thunder, salt, frost, embers, moonlight, tides, thorns, iron rain",
            substance="bone, glass, honey, silver, roots, smoke, amber, feathers, stone",
            realm="Aldermoor, Vess, the Marches, Ostrava Keep, Tamarind, the Sunken Isles, Hollowmere, Kesterwick, the Ember Coast",
            trade="witch, cartographer, thief, beekeeper, knight, scribe, falconer, alchemist, gravedigger",
            number="three, seven, nine, twelve, thirteen",
        ),
    ),
    Shelf(
        slug="romance",
        name="Romance",
        blurb="They will. Eventually.",
        share=9,
        titles=(
            "Love and {things} in {where}",
            "The {trade} Next Door",
            "{number} Days in {where}",
            "Falling for the {trade}",
            "A {season} Proposal",
            "The {season} {thing}",
            "Meet Me at the {thing}",
            "Not Another {thing}",
        ),
        abouts=(
            "{who} came to {where} to sell a {thing}, not to argue with the only {trade} in the valley.",
            "They agreed on one {season} and no feelings. The {things} had other plans.",
            "She writes the obituaries, he bakes the {things}, and all of {where} has a bet on them.",
            "Ten years after the {thing} that did not happen, {who} is back in {where}, and so is the {trade}.",
        ),
        words=_words(
            thing="bakery, wedding, bookshop, vineyard, engagement, ferry, lighthouse, cottage, ice rink, flower stall",
            things="lemons, second chances, cinnamon buns, letters, orange trees, goats, bad weather, old records",
            trade="baker, vet, carpenter, rival, florist, pilot, best man, landlord, violinist",
            season="summer, Christmas, harvest, midwinter, spring, leap-year",
            number="ten, seven, thirty, twelve, twenty-one",
        ),
    ),
    Shelf(
        slug="historical-fiction",
        name="Historical fiction",
        blurb="The past, with the lights on.",
        share=9,
        titles=(
            "The {trade} of {where}",
            "The {ruler}'s {trade}",
            "{where}, {year}",
            "A {thing} for the {ruler}",
            "The {quality} {thing}",
            "Daughters of the {thing}",
            "The {thing} and the {trade}",
        ),
        abouts=(
            "{where}, {year}. A {trade} is summoned to court to explain a {thing} that should have burned with the old palace.",
            "While the {ruler} lies dying, {who}, a {trade}, carries a {quality} message across a country that has not decided whose side it is on.",
            "Plague, grain prices and one {quality} marriage: a novel of {where} as its own people might have told it.",
            "In {year} the city opened its gates. {who} was the {trade} who held the key.",
        ),
        words=_words(
            thing="silk road, cathedral, manuscript, siege, salt tax, pigment, fleet, printing press, tapestry, treaty",
            trade="midwife, stonemason, spy, apothecary, falconer, copyist, glassblower, tailor, pilot, dyer",
            ruler="queen, doge, sultan, regent, empress, abbot, admiral, margrave",
            quality="sealed, second, heretic, gilded, stolen, last, crimson, winter",
            year="1347, 1453, 1529, 1588, 1620, 1683, 1755, 1789, 1812, 1848, 1914, 1943",
        ),
    ),
    Shelf(
        slug="thriller",
        name="Thrillers",
        blurb="Short chapters. Do not start after ten.",
        share=9,
        titles=(
            "The {quality} {thing}",
            "{thing} Zero",
            "{number} Hours to {where}",
            "Kill the {thing}",
            "The {where} {thing}",
            "{quality} Target",
            "Nobody's {trade}",
            "Run the {thing}",
        ),
        abouts=(
            "{who} has {number} hours, a {quality} passport and the wrong {thing}. Somebody in {where} wants all three.",
            "The {thing} was meant to stay buried. Then a {trade} posts one photograph, and people begin to die in order.",
            "An off-duty {trade}, a night train to {where}, and a passenger who is not on the list.",
            "Every system has a {thing}. {who} built this one, and has forgotten why.",
        ),
        words=_words(
            thing="cipher, courier, ledger, signal, protocol, asset, ghost, switch, tunnel, witness, deadline, frequency",
            quality="dark, cold, burned, silent, double, blind, false, hard, terminal",
            trade="pilot, translator, analyst, diver, surgeon, bodyguard, negotiator, hacker",
            number="six, nine, twelve, twenty-four, thirty-six, forty-eight, seventy-two",
        ),
    ),
    Shelf(
        slug="young-adult",
        name="Young adult",
        blurb="Everything for the first time.",
        share=8,
        titles=(
            "The Summer of {things}",
            "How to {verb} a {thing}",
            "{who} Does Not {verb}",
            "We Are the {things}",
            "The {quality} {things} Club",
            "Everything I {verb} About {who}",
            "{number} Ways to {verb}",
        ),
        abouts=(
            "{who} has a plan for the last year of school. It did not include the {things}, and certainly not the {quality} new neighbour.",
            "Nobody joins the {quality} {things} club on purpose. {number} people just did.",
            "A road trip, a stolen {thing}, and a best friend who has stopped answering.",
            "When the {thing} goes missing, everybody blames {who}. They are half right.",
        ),
        words=_words(
            thing="comet, mixtape, rooftop, mascot, moped, planet, telescope, hurricane, prom",
            things="comets, outsiders, fireworks, stray dogs, night swimmers, bad ideas, satellites, understudies",
            verb="break, borrow, forget, survive, explain, draw, miss, forgive, outrun",
            quality="accidental, unofficial, terrible, secret, midnight, almost, honest",
            number="three, five, seven, nine, eleven, seventeen",
        ),
    ),
    Shelf(
        slug="children",
        name="Children's books",
        blurb="For reading aloud, again, and once more.",
        share=10,
        titles=(
            "The {animal} Who {did}",
            "{name} and the {quality} {thing}",
            "Where Is {name}'s {thing}?",
            "Goodnight, {quality} {animal}",
            "The {quality} {animal}",
            "{number} {quality} {animals}",
            "{name} the {animal} Goes to {where}",
        ),
        abouts=(
            "{name} the {animal} cannot sleep, because the {thing} is humming. A story in rhyme about being brave a little at a time.",
            "What do you do with a {quality} {thing}? {name} has {number} ideas, and every one is messier than the last.",
            "A picture book with flaps, a {quality} {animal}, and a surprise that needs two hands.",
            "{number} {animals} set out for {where} with one umbrella between them.",
        ),
        words=_words(
            animal="hedgehog, badger, penguin, goose, bear, fox, otter, whale, mole, moose, hamster, owl",
            animals="hedgehogs, badgers, penguins, geese, bears, foxes, otters, moles, owls, mice",
            did="forgot the moon, ate Tuesday, learned to whistle, painted the rain, would not share, swam to school, lost a sock, built a bus",
            name="Pip, Mabel, Otto, Juna, Tiny, Wilhelmina, Bo, Fergus, Lotte, Zadie, Nils, Plum",
            thing="balloon, puddle, teapot, wellington boot, kite, blanket, bicycle, jam jar, snow globe, submarine",
            quality="sleepy, wobbly, grumpy, enormous, very small, striped, ticklish, invisible, hungry, upside-down",
            number="two, three, four, five, six, seven, ten",
        ),
    ),
    Shelf(
        slug="poetry",
        name="Poetry",
        blurb="Few words, well chosen.",
        share=5,
        titles=(
            "{things} and Other {forms}",
            "{quality} {things}",
            "{forms} for a {thing}",
            "An Atlas of {things}",
            "The {thing} Says",
            "Small {things}",
        ),
        abouts=(
            "{number} poems about {things}, work, and the weather over {where}, from a voice that trusts a short line.",
            "Sonnets that misbehave, prose that scans, and one long sequence on a {quality} {thing}.",
            "A first collection, written on night shifts in {where} and revised at bus stops.",
            "Poems of grief and {things}; the last section may be read aloud at weddings.",
        ),
        words=_words(
            thing="kettle, heron, motorway, moth, field, doorbell, estuary, commuter, stone, sparrow",
            things="herons, moths, commutes, apples, estuaries, ladders, receipts, migrations, hedgerows, rooms",
            quality="late, plain, migrant, blue, unsent, salt, domestic, flammable, second-hand",
            forms="elegies, sonnets, odes, instructions, lullabies, letters, psalms",
            number="thirty, forty-one, fifty, sixty-two, seventy",
        ),
    ),
    Shelf(
        slug="history",
        name="History",
        blurb="How we got here, with footnotes.",
        share=10,
        titles=(
            "A Short History of {things}",
            "The {thing} That Made {where}",
            "{where}: A Biography",
            "The Age of {things}",
            "Empire of {things}",
            "The {quality} Century",
            "How {things} Changed the World",
            "After the {thing}",
        ),
        subtitles=(
            "Power, trade and the making of {where}",
            "{where} and its neighbours, {span}",
            "A new history",
            "The people who paid for it",
            "From the archives, {span}",
        ),
        abouts=(
            "Drawing on court records that nobody had opened since they were tied up, this book follows {things} from {where} to the rest of the world.",
            "Between {span} the {thing} turned fishermen into financiers. A narrative history with a cast of thousands and {number} maps.",
            "Historians have long treated {things} as a footnote. Here the footnote takes the stage.",
            "What did the {thing} look like from below? Diaries, invoices and one {quality} lawsuit tell it.",
        ),
        words=_words(
            thing="canal, plague, harvest, railway, revolution, guild, telegraph, census, famine, lighthouse, treaty",
            things="salt, paper, sugar, spices, railways, coffee, glass, herring, maps, bells, clocks, wool, rope",
            quality="restless, iron, forgotten, hungry, gilded, long",
            span="1215–1348, 1492–1600, 1600–1648, 1700–1789, 1815–1870, 1870–1914, 1919–1939, 1945–1989",
            number="fourteen, twenty, thirty-one, sixty",
        ),
    ),
    Shelf(
        slug="biography",
        name="Biography and memoir",
        blurb="Other people's lives, mostly told by them.",
        share=8,
        titles=(
            "A Life in {things}",
            "The {trade} Who {did}",
            "{where} Girl",
            "My {number} Years as a {trade}",
            "Notes of a {quality} {trade}",
            "The {quality} Life of {who}",
            "{who}: A Life",
        ),
        subtitles=(
            "A memoir",
            "The authorised biography",
            "A life in letters",
            "Growing up in {where}",
        ),
        abouts=(
            "For {number} years {who} was the {quality} {trade} everyone in {where} knew and nobody asked. Now the answers.",
            "A frank, funny memoir of {things}, bad contracts and the parents who disapproved of both.",
            "From a back room in {where} to the front pages: the first full biography, with letters never printed before.",
            "How does a {trade} come to love {things}? Slowly, by this account, and then all at once.",
        ),
        words=_words(
            things="letters, luggage, recipes, wrong turns, trains, small rooms, footlights, goals, waiting rooms",
            trade="surgeon, goalkeeper, diplomat, cellist, midwife, chef, war reporter, conductor, mountain guide",
            did="said no, came back, never slept, mapped the wind, fed a city, changed her mind",
            quality="reluctant, accidental, curious, travelling, late-blooming, stubborn, unlikely",
            number="ten, twelve, twenty, thirty, forty",
        ),
    ),
    Shelf(
        slug="popular-science",
        name="Popular science",
        blurb="The world, explained by people who checked.",
        share=9,
        titles=(
            "The {quality} {thing}",
            "Why {things} {verb}",
            "The Secret Life of {things}",
            "{things}: An Introduction",
            "A Field Guide to {things}",
            "The {thing} Problem",
            "Thinking Like a {thing}",
        ),
        subtitles=(
            "What {things} tell us about ourselves",
            "The new science of {things}",
            "A journey through {things}",
            "From {where} to the edge of knowledge",
        ),
        abouts=(
            "Why do {things} {verb}? The answer took {number} years, two feuds and a freezer in {where}.",
            "A working scientist explains {things} without a single equation, and then, for those who want it, with three.",
            "Every cell, star and traffic jam has a {thing} in it. This is the story of how we noticed.",
            "Part detective story, part natural history: {things} as you will never unsee them.",
        ),
        words=_words(
            thing="neuron, glacier, octopus, quantum, gene, swarm, tide, fossil, virus, proof, forest, feather",
            things="moss, octopuses, glaciers, black holes, bees, numbers, dreams, earthquakes, microbes, clouds, eels, prime numbers",
            verb="matter, remember, lie, dance, sleep, wander, agree, collapse",
            quality="restless, invisible, improbable, elegant, social, unfinished, patient",
            number="eleven, twenty, forty, sixty, a hundred",
        ),
    ),
    Shelf(
        slug="computing",
        name="Computing",
        blurb="For those who want to know what the machine is doing.",
        share=9,
        titles=(
            "{things} in Practice",
            "The {quality} {thing}",
            "Designing {things}",
            "{quality} {things}",
            "{things} from First Principles",
            "The Art of the {thing}",
            "Debugging {things}",
            "{things} Under Load",
            "{things} and {things2}",
            "{quality} {things} with {things2}",
            "The {quality} {trade}",
            "{things} for the {quality} {trade}",
        ),
        subtitles=(
            "Principles and patterns",
            "A hands-on guide",
            "Second edition",
            "What the manual leaves out",
            "With exercises and answers",
        ),
        abouts=(
            "A hands-on guide to {things} for those who must keep them running at three in the morning.",
            "Starting with an empty file, the reader builds a small {thing}, breaks it {number} times, and learns why it broke.",
            "Queueing theory, honest measurements and {number} war stories: how {things} behave when everybody comes at once.",
            "Clear, opinionated and short. Each chapter ends with a {thing} to write and a mistake to avoid.",
        ),
        words=_words(
            trade="programmer, engineer, operator, administrator, architect",
            things2="SQL, Python, threads, logs, graphs, proofs, events, streams, clocks, sockets",
            thing="compiler, scheduler, queue, index, kernel, parser, garbage collector, cache, protocol, debugger",
            things="distributed systems, databases, operating systems, queues, compilers, networks, caches, type systems, web servers, data pipelines, state machines",
            quality="pragmatic, functional, reliable, concurrent, minimal, readable, fault-tolerant, scalable, incremental",
            number="seven, nine, twelve, twenty, a hundred",
        ),
    ),
    Shelf(
        slug="business",
        name="Business and economics",
        blurb="Money, and what people do for it.",
        share=7,
        titles=(
            "The {quality} {thing}",
            "{things} First",
            "The Price of {things}",
            "{verb} the {thing}",
            "The {thing} Paradox",
            "Who Pays for {things}?",
            "{number} Rules of {things}",
        ),
        subtitles=(
            "How good companies {verb} better",
            "The economics of {things}",
            "Lessons from {where}",
            "What your accountant cannot tell you",
        ),
        abouts=(
            "An economist walks into a market in {where} and asks what {things} cost. {number} chapters later the answer is still surprising.",
            "Forget the {thing}. The firms that last, this book argues, are the ones that know when to be {quality}.",
            "Interviews with {number} founders, most of whom failed, on {things} and what they would do again.",
            "A lively account of why {things} are never free, and who has been paying.",
        ),
        words=_words(
            thing="margin, meeting, customer, spreadsheet, monopoly, auction, pension, bottleneck, invoice, merger",
            things="patience, queues, attention, trust, shipping, small change, debt, coffee, good advice, housing",
            quality="patient, invisible, honest, lean, quiet, stubborn, generous, second-best",
            verb="rethink, grow, leave, finish, listen, borrow, sell, waste",
            number="five, seven, ten, twelve, twenty, forty",
        ),
    ),
    Shelf(
        slug="cooking",
        name="Food and drink",
        blurb="Cook tonight, wash up tomorrow.",
        share=8,
        titles=(
            "{quality} {food}",
            "The {where} Table",
            "{food} and {food2}",
            "The {quality} Kitchen",
            "{number} {quality} Suppers",
            "A Year of {food}",
            "The {food} Book",
        ),
        subtitles=(
            "{count} recipes for weeknights",
            "Recipes and stories from {where}",
            "Simple cooking with {food2}",
            "{count} ways to feed a table",
        ),
        abouts=(
            "{count} recipes that begin with {food} and end with clean plates. Nothing needs a trip to a special shop.",
            "From the markets of {where}: {food}, {food2}, and the patience to leave both alone.",
            "A {quality} approach to {food}, with photographs you may splash on and tables you may trust.",
            "Learn {number} doughs, {number} sauces and one {quality} rule, and cook without a book. Then keep the book anyway.",
        ),
        words=_words(
            food="bread, lentils, noodles, citrus, mushrooms, dumplings, beans, pastry, rice, aubergine, pickles, soup",
            food2="butter, smoke, salt, honey, spice, olive oil, fire, vinegar, herbs, time",
            quality="everyday, slow, generous, thrifty, sunday, bright, one-pot, green, midnight",
            number="three, five, seven, ten, twelve, thirty",
            count="60, 75, 80, 90, 101, 120, 150",
        ),
    ),
    Shelf(
        slug="travel",
        name="Travel",
        blurb="Go, or read about those who went.",
        share=7,
        titles=(
            "{where} on Foot",
            "Slow {vehicles} to {where}",
            "The Road to {where}",
            "{number} Days in {where}",
            "Beyond the {thing}",
            "{where} by {vehicle}",
            "Letters from {where}",
        ),
        subtitles=(
            "A journey",
            "Walks, maps and places to sleep",
            "In search of the {thing}",
            "A traveller's companion",
        ),
        abouts=(
            "With a {quality} map and no phone, {who} follows the {thing} from the source to {where}.",
            "{number} walks between half an hour and a week, each with a map, a place to eat and a reason to stop.",
            "By {vehicle} through country that guidebooks leave out, in the company of people who live there.",
            "Part travelogue, part apology: returning to {where} after {number} years, and finding the {thing} gone.",
        ),
        words=_words(
            thing="river, old road, border, coast, monsoon, pass, lighthouse, desert, last station",
            vehicle="bicycle, ferry, night train, bus, canoe, mule, tram",
            vehicles="trains, boats, buses, bicycles, ferries",
            quality="outdated, hand-drawn, borrowed, waterproof, wrong",
            number="seven, ten, twelve, thirty, forty, fifty, ninety",
        ),
    ),
    Shelf(
        slug="art-and-design",
        name="Art and design",
        blurb="Big pages, good paper.",
        share=6,
        titles=(
            "The {quality} {thing}",
            "On {things}",
            "{things} and {things2}",
            "Drawing {things}",
            "The {where} School",
            "A History of {things} in {number} Objects",
        ),
        subtitles=(
            "An illustrated history",
            "Notes for makers",
            "Catalogue of the exhibition",
            "Form, use and {things2}",
        ),
        abouts=(
            "With {number} plates, many printed for the first time, this is the book on {things} that studios keep by the window.",
            "A working designer on {things}, {things2} and the {quality} line between them.",
            "The painters who met in {where} agreed about nothing but {things2}. Their quarrel, in pictures.",
            "{number} exercises for eye and hand. All you need is a pencil and somebody else's chair.",
        ),
        words=_words(
            thing="line, poster, chair, grid, letterform, window, pattern, alphabet, palette",
            things="colour, type, chairs, posters, light, tiles, shadows, textiles, signs, hands",
            things2="order, ornament, daylight, noise, restraint, paper, geometry",
            quality="useful, honest, bright, crooked, modern, quiet, imperfect",
            number="forty, fifty, eighty, a hundred, two hundred",
        ),
    ),
    Shelf(
        slug="nature-and-gardening",
        name="Nature and gardening",
        blurb="For windowsills, allotments and long walks.",
        share=7,
        titles=(
            "The {quality} Garden",
            "{plants} for {places}",
            "A Year Among the {plants}",
            "The {creature} Year",
            "In the Company of {creatures}",
            "The Patient {trade}",
            "{places} and Their {plants}",
        ),
        subtitles=(
            "Month by month",
            "What to plant and when",
            "A naturalist's notebook",
            "{count} plants that forgive",
        ),
        abouts=(
            "What to sow, what to leave alone, and how to tell the difference: a year in a {quality} garden near {where}.",
            "For one year {who} got up before dawn to watch {creatures}. This notebook is what came of it.",
            "{count} {plants} for {places}, chosen because they forgive. Hand-drawn plans at the back.",
            "Hedges, ponds and the {creatures} that move in when you stop mowing.",
        ),
        words=_words(
            plants="roses, ferns, apples, herbs, grasses, mosses, beans, bulbs, oaks, wildflowers",
            places="balconies, clay soil, shade, small gardens, salt winds, dry summers, windowsills",
            creature="swift, bumblebee, heron, toad, barn owl, hedgehog, wren",
            creatures="swifts, bees, herons, toads, owls, dragonflies, rooks, bats",
            quality="wild, edible, lazy, walled, winter, scented, borrowed",
            trade="gardener, orchardist, beekeeper, forager, hedge-layer, birdwatcher",
            count="50, 60, 75, 100, 120",
        ),
    ),
    Shelf(
        slug="philosophy",
        name="Philosophy and ideas",
        blurb="Questions that outlive their answers.",
        share=6,
        titles=(
            "On {things}",
            "The {quality} {thing}",
            "{things} and {things2}",
            "Against {things}",
            "What We Owe to {things2}",
            "The Uses of {things}",
            "A Defence of {things}",
        ),
        subtitles=(
            "An essay",
            "Six lectures",
            "A dialogue",
            "Philosophy for the {quality}",
            "Essays on {things2}",
        ),
        abouts=(
            "Is {things} a virtue, or only what we call luck afterwards? {number} short chapters, no jargon, one long footnote.",
            "Six lectures given in {where} on {things} and {things2}, with the questions from the audience left in.",
            "A philosopher loses a wager and must spend a year without {things}. The argument that follows is with everyone.",
            "From the ancients to the comment section: a history of {things}, told through its enemies.",
        ),
        words=_words(
            thing="promise, mind, stranger, argument, map, animal, self, crowd",
            things="patience, doubt, boredom, silence, courage, forgetting, certainty, kindness, leisure, envy",
            things2="strangers, justice, machines, the dead, beauty, the future, work",
            quality="examined, ordinary, divided, perplexed, generous, unlucky",
            number="seven, nine, twelve, eighteen",
        ),
    ),
)

PLACES: tuple[str, ...] = tuple(
    name.strip()
    for name in """
    Lisbon, Trieste, Kraków, Galway, Tallinn, Odesa, Valparaíso, Kyoto, Marseille, Bergen, Ghent, Porto,
    Salzburg, Izmir, Dakar, Lucknow, Penang, Montevideo, Halifax, Riga, Ljubljana, Bath, Cardiff, Leith,
    Antwerp, Bologna, Seville, Basel, Turku, Aarhus, Zanzibar, Muscat, Tbilisi, Yerevan, Hanoi, Busan,
    Oaxaca, Cusco, Savannah, Duluth, Hobart, Dunedin, Saltmarsh, Winterbourne, Ashcombe, Kilbride,
    Marlow Bay, Harrow Street, the Old Quay, Long Meadow, Blackwater, St Ives, Candlewick, Pell Hill
    """.split(",")
)

FIRST_NAMES: tuple[str, ...] = tuple(
    """
    Ada Adaeze Agnes Ahmed Aiko Akira Alba Aleksandra Alma Amara Amir Ana Anders Andrea Anika Antonia Arjun
    Astrid Ayesha Beatriz Benedikt Bianca Bogdan Brigid Camille Carla Carys Catalina Cecily Chidi Clara Conor
    Dagny Dalia Daniel Daria Dimitri Edith Eduardo Eilidh Elena Elif Elsa Emeka Emil Enid Esther Farah Felix
    Fiona Francesca Freya Gabriel Gita Grace Greta Gustav Hana Hanne Haruki Helena Henrik Hugo Ibrahim Ilse
    Imogen Ines Ingrid Irina Isabel Ivan Jasmin Joanna Johan Jonas Julia Kamala Karim Katya Kenji Klara Kofi
    Lars Leila Lena Leonor Liam Lidia Linnea Luca Lucia Magda Mairi Malik Marcel Margot Mariam Marta Mateo
    Matilda Meera Mei Mikael Mina Miriam Mohan Nadia Naomi Niamh Nikolai Nina Noor Olga Oliver Omar Oona Oscar
    Paloma Paolo Pavel Petra Priya Quentin Rafael Rana Ravi Renata Rosa Rowan Ruth Saba Sami Samuel Sanna Selma
    Shirin Sigrid Silvia Simon Sofia Stefan Sunniva Tamsin Tariq Tess Theo Thora Tomas Ursula Vera Viktor
    Wanda Wren Xavier Yara Yasmin Yusuf Zainab Zora
    """.split()
)

LAST_NAMES: tuple[str, ...] = tuple(
    """
    Abara Adeyemi Ahlberg Almeida Andrade Arkwright Ashdown Aziz Bakker Balogun Barros Bellweather Berglund Bianchi
    Blackwood Bose Brandt Brennan Byrne Calloway Cardoso Carmody Castellan Chandra Chaudhry Chen Cheng Clement
    Conti Corrigan Cortez Crane Dahl Danso Dasgupta Delacroix Demir Dervish Dragan Drummond Duarte Eastlake Eberhart
    Egan Eklund Elwood Falk Farrow Fennimore Ferreira Finch Fischer Fontaine Fournier Gallagher Ganguly Garrick
    Greenhalgh Grimsby Gupta Haddad Halloran Halvorsen Harcourt Hassan Hayashi Heinemann Hollis Horvat Ibarra Ikeda
    Iqbal Ivanova Jansen Jarvis Jimenez Joshi Kaplan Karlsson Kaya Keane Kimura Kingsley Kowalska Kruger Lachance
    Langley Larkin Lindqvist Llewellyn Lombardi Lund Mackenzie Mahoney Maier Marchetti Marlowe Mbeki Mendes Mensah
    Mercer Moreau Moretti Murakawa Nakamura Navarro Ndiaye Nielsen Nkemelu Norwood Novak Nygaard Oakley Obi Okafor
    Okonkwo Oliveira Ortega Osei Ostrowski Pacheco Palmer Papadakis Park Pemberton Petrov Pickering Quigley Quiroga
    Rahman Ramirez Ransome Rasmussen Reyes Rinaldi Rossi Rousseau Rutherford Saito Salazar Sandoval Santos Sato
    Schneider Seymour Shah Silva Sinclair Sjoberg Sokolov Soler Sorensen Stavros Stendahl Summers Svensson Szabo
    Tanaka Thackeray Thorne Toledo Tremaine Ueda Underhill Valdez Vance Varga Vasquez Verma Villanueva Vogel
    Wainwright Walsh Wessel Whitlock Winterbourne Wolff Yamada Yilmaz Zamora Zeller Zhang Zielinska
    """.split()
)

PUBLISHERS: tuple[str, ...] = tuple(
    name.strip()
    for name in """
    Larkspur & Daughters, Ninth Bell Press, Harbour Lane, Tern Books, Quillwater, Saltbox Press, Paper Heron,
    Old Mill House, Bramble & Finch, Corvid Editions, The Lantern Press, Northlight, Kestrel & Co, Blue Ladder,
    Small Hours, Weathervane, Halfmoon Street, Thimble Press, Copper Kettle, Ostler & Reed, Meridian House,
    Foxglove, Tidewrack, Longacre, Hinge Press, Moth & Lamp, Caravel, Wickerwork Books, Second Floor Press, Elm Row
    """.split(",")
)

CLOSINGS: tuple[str, ...] = (
    "Read it in one sitting, then lend it to someone you trust.",
    "A book to argue with.",
    "Winner of the {where} Prize.",
    "Shortlisted for the {publisher} First Book Award.",
    "Longer than it looks and over too soon.",
    "With a new afterword by {who}.",
    "The author lives in {where} with too many books and a dog that eats them.",
    "Translated by {who}.",
    "Readers write to say that they missed their stop.",
    "“I wish I had written it.” — {who}",
    "“As exact as it is kind.” — {who}",
    "“The best thing to come out of {where} in years.” — {who}",
    "A reading group favourite; questions for discussion are at the back.",
    "Sensible, sly and beautifully made.",
    "Now in its {edition} printing.",
    "It will make you look at your own street again.",
)
