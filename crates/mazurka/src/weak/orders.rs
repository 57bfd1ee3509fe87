//! Finds the orders of accesses that are too weak, and those that are stronger than necessary.
//!
//! `mazurka_memory::orders` repeatedly proposes an order for every access, and asks whether the
//! program passes with these orders. A search of the program with them gives the answer.

use std::sync::Arc;

use mazurka_core::record::{Advice, AdvisedAccess, Orders, Place, Record};
use mazurka_core::{AccessOrder, Bound, Limits, Ordered, Verdict};
use mazurka_explore::{Budget, Watch};
use mazurka_lang::OrderedAccess;
use mazurka_memory::orders::{self, OrderedPlace};
use serde::{Deserialize, Serialize};

use super::WeakRequest;
use super::search::Question;
use crate::{Options, Program, Refused};

/// The record of a program's orders.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OrdersRecord {
    /// The common record: the search with the orders as written.
    #[serde(flatten)]
    pub record: Record,
    /// The advice on the orders.
    pub orders: Orders,
}

impl Program {
    /// Determines which orders of accesses must be stronger, if the program is violated under the
    /// memory model of the options, or which can be weaker, if it is verified.
    ///
    /// ```
    /// use mazurka::record::Advice;
    /// use mazurka::weak::Memory;
    /// use mazurka::{Options, Program, quietly};
    ///
    /// let source = "atomicity access  var message: int = 0  var flag: atomic bool = false
    ///     process { message := 42; flag.store(true, relaxed) }
    ///     process { await flag.load(seq_cst); assert message == 42 }";
    /// let program = Program::load("flag.maz", source, &[]).unwrap();
    /// let options = Options { memory: Some(Memory::Rc11), ..Options::default() };
    /// let orders = program.orders(&options, &mut quietly()).unwrap().orders;
    /// assert_eq!(orders.advice, Advice::Strengthen);
    /// assert_eq!(orders.accesses[0].advised.as_deref(), Some("release"));
    /// assert!(!orders.accesses[1].changes());
    /// ```
    ///
    /// # Errors
    ///
    /// The options name no weak memory model, the program cannot be explored under one, or it has
    /// no orders to choose.
    pub fn orders(
        &self,
        options: &Options,
        watch: &mut Watch<'_>,
    ) -> Result<OrdersRecord, Refused> {
        let memory = options.weak_memory().ok_or(Refused::NoOrders)?;
        let asked = self.asked(options);
        let code = asked.weak_code()?;
        if !asked.unknowns().is_empty() {
            return Err(Refused::WeakUnknowns);
        }
        let budget = Budget::new(&options.limits);
        let wanted = WeakRequest {
            command: "orders",
            memory,
            draws: None,
        };
        let mut record = asked.search_weakly(wanted, options, watch)?;
        let question = asked.question(wanted, code, options);
        let mut advisor = Advisor::new(question, options.limits.steps, budget, watch);
        if advisor.accesses.is_empty() {
            return Err(Refused::NothingOrdered);
        }
        advisor.steps = record.counts.steps;
        let (advice, orders) = match record.verdict {
            Verdict::Violated => match advisor.strengthened() {
                Ok(Some(orders)) => (Advice::Strengthen, orders.into_iter().map(Some).collect()),
                Ok(None) => (Advice::Helpless, advisor.written()),
                Err(stop) => (Advice::Open, advisor.left_open(stop, Vec::new())?),
            },
            Verdict::Verified => {
                let (orders, stop) = advisor.weakened();
                let weaker = advisor.differs(&orders);
                match stop {
                    Some(stop) => {
                        let orders = advisor.left_open(stop, orders)?;
                        let open = if weaker { Advice::Weaken } else { Advice::Open };
                        (open, orders)
                    }
                    None if weaker => (Advice::Weaken, orders.into_iter().map(Some).collect()),
                    None => (Advice::Keep, advisor.written()),
                }
            }
            Verdict::Inconclusive => (Advice::Open, vec![None; advisor.accesses.len()]),
        };
        let orders = Orders {
            advice,
            searches: advisor.searches + 1,
            accesses: advisor.advised(&orders),
        };
        let bounds = std::mem::take(&mut advisor.bounds);
        record.seconds = advisor.budget.elapsed().as_secs_f64();
        record.add_bounds(bounds);
        Ok(OrdersRecord { record, orders })
    }

    /// Returns the accesses that need stronger orders for a violated program to be verified, each
    /// with its new order. The list is empty if searches with at most `steps` steps in total find
    /// no such orders.
    pub(super) fn stronger(
        question: Question<'_>,
        steps: u64,
        budget: Budget<'_>,
        watch: &mut Watch<'_>,
    ) -> Vec<AdvisedAccess> {
        let mut advisor = Advisor::new(question, Some(steps), budget, watch);
        match advisor.strengthened() {
            Ok(Some(orders)) => {
                let orders: Vec<_> = orders.into_iter().map(Some).collect();
                let mut all = advisor.advised(&orders);
                all.retain(AdvisedAccess::changes);
                all
            }
            _ => Vec::new(),
        }
    }
}

/// Why there is no answer.
enum NoAnswer {
    Limit,
    Refused(Refused),
}

/// Checks the program with other orders.
struct Advisor<'a, 'w, 'd> {
    question: Question<'a>,
    accesses: Vec<OrderedAccess>,
    /// Limit on the steps of all searches together.
    most_steps: Option<u64>,
    budget: Budget<'a>,
    watch: &'w mut Watch<'d>,
    searches: u64,
    steps: u64,
    bounds: Vec<Bound>,
}

impl<'a, 'w, 'd> Advisor<'a, 'w, 'd> {
    fn new(
        question: Question<'a>,
        most_steps: Option<u64>,
        budget: Budget<'a>,
        watch: &'w mut Watch<'d>,
    ) -> Self {
        Self {
            accesses: question.code.program().ordered_accesses(),
            question,
            most_steps,
            budget,
            watch,
            searches: 0,
            steps: 0,
            bounds: Vec::new(),
        }
    }

    /// Whether the program passes with these orders.
    fn passes(&mut self, orders: &[AccessOrder]) -> Result<bool, NoAnswer> {
        let spans = self.accesses.iter().map(|access| access.span);
        let orders = spans.zip(orders.iter().copied());
        let code = Arc::new(self.question.code.with_orders(orders));
        let left = self.most_steps.map(|most| most - self.steps.min(most));
        let options = Options {
            limits: Limits {
                steps: left,
                ..self.budget.left()
            },
            reached: None,
            ..self.question.options.started()
        };
        let question = Question {
            code: &code,
            stops: self.question.counted,
            options: &options,
            ..self.question
        };
        let answer = question.ask(self.watch);
        let answer = answer.map_err(|why| NoAnswer::Refused(why.into()))?;
        self.searches += 1;
        self.steps += answer.counts.steps;
        match (answer.witnesses.is_empty(), answer.bounds.is_empty()) {
            (false, _) => Ok(false),
            (true, true) => Ok(true),
            (true, false) => {
                self.bounds = answer.bounds;
                let given = self.most_steps.map(Bound::MaxSteps);
                for bound in &mut self.bounds {
                    if let (Bound::MaxSteps(_), Some(given)) = (&bound, given) {
                        *bound = given;
                    }
                }
                self.budget.restate(&mut self.bounds);
                Err(NoAnswer::Limit)
            }
        }
    }

    /// Returns the orders as written.
    fn written(&self) -> Vec<Option<AccessOrder>> {
        let orders = self.accesses.iter();
        orders.map(|access| Some(access.order)).collect()
    }

    fn differs(&self, orders: &[AccessOrder]) -> bool {
        let mut pairs = self.accesses.iter().zip(orders);
        pairs.any(|(access, order)| access.order != *order)
    }

    /// Returns the orders found before a limit was reached. The advice for all other accesses is
    /// open.
    fn left_open(
        &self,
        stop: NoAnswer,
        known: Vec<AccessOrder>,
    ) -> Result<Vec<Option<AccessOrder>>, Refused> {
        match stop {
            NoAnswer::Refused(refused) => Err(refused),
            NoAnswer::Limit => {
                let mut orders: Vec<_> = known.into_iter().map(Some).collect();
                orders.resize(self.accesses.len(), None);
                Ok(orders)
            }
        }
    }

    /// Returns the accesses in the form that the search for orders needs.
    fn places(&self) -> Vec<OrderedPlace> {
        let place = |access: &OrderedAccess| OrderedPlace {
            does: access.does,
            written: access.order,
        };
        self.accesses.iter().map(place).collect()
    }

    /// Returns orders with which the program is verified. They differ from the written orders at as
    /// few places as possible, and there they are as weak as possible. Returns `None` if there are
    /// no such orders.
    fn strengthened(&mut self) -> Result<Option<Vec<AccessOrder>>, NoAnswer> {
        orders::strengthened(&self.places(), &mut |orders| self.passes(orders))
    }

    /// Returns the weakest known orders with which the program still passes.
    fn weakened(&mut self) -> (Vec<AccessOrder>, Option<NoAnswer>) {
        orders::weakened(&self.places(), &mut |orders| self.passes(orders))
    }

    fn advised(&self, orders: &[Option<AccessOrder>]) -> Vec<AdvisedAccess> {
        let source = self.question.code.source();
        let tell = |(access, order): (&OrderedAccess, &Option<AccessOrder>)| {
            let (line, column) = access.span.line_column(source);
            let words: Vec<&str> = access.span.text(source).split_whitespace().collect();
            let fails_apart = access.does == Ordered::CompareExchange;
            let failure = |order: AccessOrder| fails_apart.then(|| order.failure.to_string());
            AdvisedAccess {
                place: Place {
                    line,
                    column,
                    text: words.join(" "),
                    file: access.span.file(source).map(str::to_owned),
                },
                access: match access.does {
                    Ordered::Load => "load",
                    Ordered::Store => "store",
                    Ordered::Update => "update",
                    Ordered::CompareExchange => "compare_exchange",
                    Ordered::Fence => "fence",
                }
                .to_owned(),
                order: access.order.order.to_string(),
                failure: failure(access.order),
                advised: order.map(|order| order.order.to_string()),
                advised_failure: order.and_then(failure),
            }
        };
        self.accesses.iter().zip(orders).map(tell).collect()
    }
}
